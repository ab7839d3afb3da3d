// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/argument.h"

#include "client/cpp/submission/wire_writer.h"
#include "holdfast/v1/launch.pb.h"

namespace holdfast {
namespace {

using Fields = v1::fields::Argument;

// One overload for each type that the protocol knows.
struct Encoder {
  WireWriter& writer;

  void operator()(bool value) const { writer.Write(Fields::kBoolean, value); }
  void operator()(int8_t value) const { writer.Write(Fields::kI8, value); }
  void operator()(int16_t value) const { writer.Write(Fields::kI16, value); }
  void operator()(int32_t value) const { writer.Write(Fields::kI32, value); }
  void operator()(int64_t value) const { writer.Write(Fields::kI64, value); }
  void operator()(uint8_t value) const { writer.Write(Fields::kU8, value); }
  void operator()(uint16_t value) const { writer.Write(Fields::kU16, value); }
  void operator()(uint32_t value) const { writer.Write(Fields::kU32, value); }
  void operator()(uint64_t value) const { writer.Write(Fields::kU64, value); }
  void operator()(float value) const { writer.Write(Fields::kF32, value); }
  void operator()(double value) const { writer.Write(Fields::kF64, value); }
  void operator()(Half value) const {
    writer.Write(Fields::kF16Bits, value.bits);
  }
  // On the wire both are two bytes.
  void operator()(BFloat16 value) const {
    writer.Write(Fields::kF16Bits, value.bits);
  }
  void operator()(BufferAddress value) const {
    writer.Message(Fields::kBuffer, [&] {
      writer.Write(v1::fields::BufferArgument::kBuffer, value.buffer);
      if (value.offset == 0) return;
      writer.Write(v1::fields::BufferArgument::kOffset, value.offset);
    });
  }
  void operator()(GraphCondition condition) const {
    writer.Write(Fields::kGraphCondition, condition.id);
  }
  void operator()(std::span<const std::byte> bytes) const {
    writer.Write(Fields::kRaw, bytes.data(), bytes.size());
  }
};

}  // namespace

void Argument::Encode(WireWriter& writer) const {
  std::visit(Encoder{writer}, value_);
}

}  // namespace holdfast
