// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/argument.h"

#include "client/cpp/wire_writer.h"
#include "holdfast/v1/launch.pb.h"

namespace holdfast {
namespace {

using Fields = v1::Argument;

// One overload for each type that the protocol knows.
struct Encoder {
  WireWriter& writer;

  void operator()(bool value) const {
    writer.Varint(Fields::kBooleanFieldNumber, value);
  }
  void operator()(int8_t value) const {
    writer.ZigZag(Fields::kI8FieldNumber, value);
  }
  void operator()(int16_t value) const {
    writer.ZigZag(Fields::kI16FieldNumber, value);
  }
  void operator()(int32_t value) const {
    writer.ZigZag(Fields::kI32FieldNumber, value);
  }
  void operator()(int64_t value) const {
    writer.ZigZag(Fields::kI64FieldNumber, value);
  }
  void operator()(uint8_t value) const {
    writer.Varint(Fields::kU8FieldNumber, value);
  }
  void operator()(uint16_t value) const {
    writer.Varint(Fields::kU16FieldNumber, value);
  }
  void operator()(uint32_t value) const {
    writer.Varint(Fields::kU32FieldNumber, value);
  }
  void operator()(uint64_t value) const {
    writer.Varint(Fields::kU64FieldNumber, value);
  }
  void operator()(float value) const {
    writer.Float(Fields::kF32FieldNumber, value);
  }
  void operator()(double value) const {
    writer.Double(Fields::kF64FieldNumber, value);
  }
  void operator()(Half value) const {
    writer.Varint(Fields::kF16BitsFieldNumber, value.bits);
  }
  // On the wire both are two bytes.
  void operator()(BFloat16 value) const {
    writer.Varint(Fields::kF16BitsFieldNumber, value.bits);
  }
  void operator()(BufferAddress value) const {
    writer.Message(Fields::kBufferFieldNumber, [&] {
      writer.Fixed64(v1::BufferArgument::kBufferFieldNumber, value.buffer);
      if (value.offset == 0) return;
      writer.Varint(v1::BufferArgument::kOffsetFieldNumber, value.offset);
    });
  }
  void operator()(GraphCondition condition) const {
    writer.Varint(Fields::kGraphConditionFieldNumber, condition.id);
  }
  void operator()(std::span<const std::byte> bytes) const {
    writer.Bytes(Fields::kRawFieldNumber, bytes.data(), bytes.size());
  }
};

}  // namespace

void Argument::Encode(WireWriter& writer) const {
  std::visit(Encoder{writer}, value_);
}

}  // namespace holdfast
