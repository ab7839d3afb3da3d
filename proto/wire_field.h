// SPDX-License-Identifier: Apache-2.0
//
// A field of a message in the wire format: its number, and its encoding as its
// C++ type. wire_fields.h, which is generated from the .proto files, has one
// constant for each field: v1::fields::RecordEvent::kEvent. A writer with these
// types cannot use a wrong encoding.
#ifndef HOLDFAST_PROTO_WIRE_FIELD_H_
#define HOLDFAST_PROTO_WIRE_FIELD_H_

namespace holdfast::wire {

// uint32, uint64, int32, int64, bool, enum.
struct VarintField {
  int number;
};
// sint32, sint64.
struct ZigZagField {
  int number;
};
// fixed32, sfixed32.
struct Fixed32Field {
  int number;
};
// fixed64, sfixed64.
struct Fixed64Field {
  int number;
};
struct FloatField {
  int number;
};
struct DoubleField {
  int number;
};
// bytes, string.
struct BytesField {
  int number;
};
struct MessageField {
  int number;
};

}  // namespace holdfast::wire

#endif  // HOLDFAST_PROTO_WIRE_FIELD_H_
