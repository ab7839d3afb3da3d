// SPDX-License-Identifier: Apache-2.0
//
// Messages of the protocol, written as protobuf writes them but without the
// objects between: straight into the bytes that are sent. For the commands of
// which there are many; the tests compare each with the message.
//
//   writer.Message(v1::fields::Command::kRecordEvent, [&] {
//     writer.Write(v1::fields::RecordEvent::kEvent, event);
//     writer.Write(v1::fields::RecordEvent::kStream, stream);
//   });
//
// A field's constant says how it is encoded, so that no field can be written in
// another way than protobuf reads it.
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

// Appends to memory of its own, which grows. Not thread-safe.
class WireWriter {
 public:
  // `capacity` in bytes; not 0.
  explicit WireWriter(size_t capacity)
      : data_(new char[capacity]), capacity_(capacity) {}

  // Valid until the next write.
  char* data() const { return data_.get(); }
  size_t size() const { return size_; }
  // Bytes before the next growth.
  size_t capacity() const { return capacity_; }
  // Drops what was written after the first `size` bytes.
  void Truncate(size_t size) { size_ = size; }

  // Each overload writes the field's tag and then the value, also if that is
  // the default, which protobuf would leave out.
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

  // The same for many bytes that are the last of a message, and of those that
  // it is in: they are copied when the outermost ends, once its length is
  // known, so that they need not be moved to make room for it. REQUIRES: called
  // in Message.
  void WriteLast(wire::BytesField field, absl::string_view bytes) {
    Reserve(kMaxTag + kMaxVarint);
    Tag(field.number, kLengthDelimited);
    Raw(bytes.size());
    last_ = bytes;
  }

  // A message in the message: what `body()` writes.
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

  // Bytes that another writer, or this one, has written.
  void Append(absl::string_view bytes) {
    Reserve(bytes.size());
    Copy(bytes.data(), bytes.size());
  }

  // The fields of a message object, as if they had been written here.
  void Fields(const google::protobuf::MessageLite& message);

 private:
  enum WireType { kVarint = 0, k64Bit = 1, kLengthDelimited = 2, k32Bit = 5 };
  static constexpr size_t kMaxTag = 5;
  static constexpr size_t kMaxVarint = 10;

  // Room for so many bytes more.
  void Reserve(size_t more) {
    if (capacity_ - size_ < more) [[unlikely]]
      Grow(more);
  }
  // At least doubles the memory.
  void Grow(size_t more);
  // Moves what there is of a message that is longer than 127 bytes, whose
  // length takes more than the one byte that was left.
  void MakeRoomForLength(size_t start, size_t length);

  // Tag and number, 7 bits a byte, least first.
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
  // Below 16 the field's number takes one byte.
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
  int depth_ = 0;           // messages that are open
  absl::string_view last_;  // behind all that is written of them
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_WIRE_WRITER_H_
