// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/wire_writer.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace holdfast {

static_assert(std::endian::native == std::endian::little,
              "fixed fields are copied as they stand in memory");

void WireWriter::Fields(const google::protobuf::MessageLite& message) {
  const size_t size = message.ByteSizeLong();
  Reserve(size);
  message.SerializeWithCachedSizesToArray(
      reinterpret_cast<uint8_t*>(data_.get() + size_));
  size_ += size;
}

void WireWriter::Grow(size_t more) {
  const size_t capacity = std::max(2 * capacity_, size_ + more);
  std::unique_ptr<char[]> data(new char[capacity]);
  std::memcpy(data.get(), data_.get(), size_);
  data_ = std::move(data);
  capacity_ = capacity;
}

void WireWriter::MakeRoomForLength(size_t start, size_t length) {
  Reserve(kMaxVarint);
  size_t extra = 0;
  for (size_t rest = length >> 7; rest != 0; rest >>= 7) ++extra;
  const size_t written = size_ - start;
  std::memmove(data_.get() + start + extra, data_.get() + start, written);
  size_ = start - 1;
  Raw(length);
  size_ += written;
}

}  // namespace holdfast
