// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/argument.h"

#include "holdfast/v1/launch.pb.h"

namespace holdfast {
namespace {

// One overload for each type that the protocol knows.
struct Encoder {
  v1::Argument* argument;

  void operator()(bool value) const { argument->set_boolean(value); }
  void operator()(int8_t value) const { argument->set_i8(value); }
  void operator()(int16_t value) const { argument->set_i16(value); }
  void operator()(int32_t value) const { argument->set_i32(value); }
  void operator()(int64_t value) const { argument->set_i64(value); }
  void operator()(uint8_t value) const { argument->set_u8(value); }
  void operator()(uint16_t value) const { argument->set_u16(value); }
  void operator()(uint32_t value) const { argument->set_u32(value); }
  void operator()(uint64_t value) const { argument->set_u64(value); }
  void operator()(float value) const { argument->set_f32(value); }
  void operator()(double value) const { argument->set_f64(value); }
  void operator()(Half value) const { argument->set_f16_bits(value.bits); }
  // On the wire both are two bytes.
  void operator()(BFloat16 value) const { argument->set_f16_bits(value.bits); }
  void operator()(BufferAddress value) const {
    argument->mutable_buffer()->set_buffer(value.buffer);
    argument->mutable_buffer()->set_offset(value.offset);
  }
  void operator()(std::span<const std::byte> bytes) const {
    argument->set_raw(bytes.data(), bytes.size());
  }
};

}  // namespace

void Argument::Encode(v1::Argument* argument) const {
  std::visit(Encoder{argument}, value_);
}

}  // namespace holdfast
