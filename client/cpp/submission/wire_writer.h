// SPDX-License-Identifier: Apache-2.0
//
// Writes messages of the protocol in protobuf's format directly into the bytes
// to send, without message objects. Used for frequent commands; the tests
// compare each with its message.
//
//   writer.Message(v1::fields::Command::kRecordEvent, [&] {
//     writer.Write(v1::fields::RecordEvent::kEvent, event);
//     writer.Write(v1::fields::RecordEvent::kStream, stream);
//   });
//
// A field's constant has its encoding as its type, so that a field cannot be
// written with a wrong encoding.
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_WIRE_WRITER_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_WIRE_WRITER_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"
#include "proto/wire_fields.h"

namespace holdfast {

// Appends to its own memory, which grows. Not thread-safe.
class WireWriter {
 public:
  // `capacity` in bytes; not 0.
  explicit WireWriter(size_t capacity)
      : data_(new char[capacity]), capacity_(capacity) {}

  // The written bytes. The pointer is valid until the next write.
  char* data() const { return data_.get(); }
  size_t size() const { return size_; }
  // The bytes that the allocated memory can hold.
  size_t capacity() const { return capacity_; }
  // Drops what was written after the first `size` bytes.
  void Truncate(size_t size) { size_ = size; }

  // Each overload writes the field's tag and value, even if the value is the
  // default, which protobuf omits.
  template <typename Number>
  requires std::integral<Number> || std::is_enum_v<Number>
  void Write(wire::VarintField field, Number value) {
    Varint(field.number, static_cast<uint64_t>(value));
  }
  void Write(wire::ZigZagField field, int64_t value) {
    Varint(field.number, static_cast<uint64_t>(value) << 1 ^
                             static_cast<uint64_t>(value >> 63));
  }
  void Write(wire::Fixed32Field field, uint32_t value) {
    Fixed(field.number, k32Bit, value);
  }
  void Write(wire::Fixed64Field field, uint64_t value) {
    Fixed(field.number, k64Bit, value);
  }
  void Write(wire::FloatField field, float value) {
    Fixed(field.number, k32Bit, value);
  }
  void Write(wire::DoubleField field, double value) {
    Fixed(field.number, k64Bit, value);
  }
  void Write(wire::BytesField field, const void* data, size_t size) {
    Reserve(kMaxTag + kMaxVarint + size);
    Tag(field.number, kLengthDelimited);
    Raw(size);
    Copy(data, size);
  }

  // Writes a large field that is the last field of the innermost message and of
  // all messages around it. `bytes` are copied when the outermost message ends,
  // after its length is known, so that they are never moved. REQUIRES: called
  // in Message, and `bytes` live until the outermost Message returns.
  void WriteLast(wire::BytesField field, absl::string_view bytes) {
    Reserve(kMaxTag + kMaxVarint);
    Tag(field.number, kLengthDelimited);
    Raw(bytes.size());
    last_ = bytes;
  }

  // Writes a nested message, whose fields `body()` writes.
  template <typename Body>
  void Message(wire::MessageField field, Body body) {
    Reserve(kMaxTag + 1);
    Tag(field.number, kLengthDelimited);
    const size_t start = ++size_;  // One byte for the length: mostly enough.
    ++depth_;
    body();
    --depth_;
    const size_t length = size_ - start + last_.size();
    if (length < 0x80) [[likely]] {
      data_[start - 1] = static_cast<char>(length);
    } else {
      MakeRoomForLength(start, length);
    }
    if (depth_ == 0 && !last_.empty()) [[unlikely]]
      Append(std::exchange(last_, {}));
  }

  // Appends bytes that a WireWriter has written.
  void Append(absl::string_view bytes) {
    Reserve(bytes.size());
    Copy(bytes.data(), bytes.size());
  }

  // Writes the fields of a message object.
  void Fields(const google::protobuf::MessageLite& message);

 private:
  enum WireType { kVarint = 0, k64Bit = 1, kLengthDelimited = 2, k32Bit = 5 };
  static constexpr size_t kMaxTag = 5;
  static constexpr size_t kMaxVarint = 10;

  // Makes room for `more` bytes.
  void Reserve(size_t more) {
    if (capacity_ - size_ < more) [[unlikely]]
      Grow(more);
  }
  // At least doubles the memory.
  void Grow(size_t more);
  // Moves the bytes of a message with more than 127 bytes, whose length takes
  // more than the one reserved byte.
  void MakeRoomForLength(size_t start, size_t length);

  // Writes tag and number, 7 bits in each byte, lowest first.
  void Varint(int field, uint64_t value) {
    Reserve(kMaxTag + kMaxVarint);
    Tag(field, kVarint);
    Raw(value);
  }
  template <typename Value>
  void Fixed(int field, WireType type, Value value) {
    Reserve(kMaxTag + sizeof value);
    Tag(field, type);
    Copy(&value, sizeof value);
  }
  // A field number below 16 takes one byte.
  void Tag(int field, WireType type) {
    Raw(static_cast<uint64_t>(field) << 3 | type);
  }
  void Raw(uint64_t value) {
    while (value >= 0x80) {
      data_[size_++] = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    data_[size_++] = static_cast<char>(value);
  }
  void Copy(const void* from, size_t size) {
    if (size == 0) return;
    std::memcpy(data_.get() + size_, from, size);
    size_ += size;
  }

  std::unique_ptr<char[]> data_;
  size_t capacity_;
  size_t size_ = 0;
  int depth_ = 0;           // open messages
  absl::string_view last_;  // follows the written bytes of the open messages
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_WIRE_WRITER_H_
