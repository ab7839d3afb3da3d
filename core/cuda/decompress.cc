// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/decompress.h"

#include <zstd.h>

namespace holdfast::cuda {
namespace {

// The bytes of an LZ4 block that are still to be read.
class Lz4Reader {
 public:
  explicit Lz4Reader(absl::string_view bytes) : left_(bytes) {}

  bool AtEnd() const { return left_.empty(); }

  bool Byte(unsigned* value) {
    if (left_.empty()) return false;
    *value = static_cast<unsigned char>(left_[0]);
    left_.remove_prefix(1);
    return true;
  }

  // A length whose first four bits are `start`: 15 goes on in further bytes,
  // 255 in yet another one.
  bool Length(size_t start, size_t* length) {
    *length = start;
    if (start != 15) return true;
    for (unsigned more = 255; more == 255;) {
      if (!Byte(&more)) return false;
      *length += more;
    }
    return true;
  }

  bool Bytes(size_t count, absl::string_view* bytes) {
    if (count > left_.size()) return false;
    *bytes = left_.substr(0, count);
    left_.remove_prefix(count);
    return true;
  }

 private:
  absl::string_view left_;
};

}  // namespace

bool DecompressLz4(absl::string_view block, size_t size, std::string* content) {
  constexpr size_t kShortestMatch = 4;
  if (size > kMaxDecompressed) return false;
  content->clear();
  content->reserve(size);
  Lz4Reader reader(block);
  while (!reader.AtEnd()) {
    unsigned token, low, high;
    size_t length;
    absl::string_view literals;
    if (!reader.Byte(&token) || !reader.Length(token >> 4, &length) ||
        !reader.Bytes(length, &literals) ||
        literals.size() > size - content->size()) {
      return false;
    }
    content->append(literals.data(), literals.size());
    if (reader.AtEnd()) break;  // the last sequence has no match
    if (!reader.Byte(&low) || !reader.Byte(&high) ||
        !reader.Length(token & 15, &length)) {
      return false;
    }
    const size_t distance = high << 8 | low;
    length += kShortestMatch;
    if (distance == 0 || distance > content->size() ||
        length > size - content->size()) {
      return false;
    }
    // Byte by byte: a match may reach into itself.
    for (; length > 0; --length) {
      content->push_back((*content)[content->size() - distance]);
    }
  }
  return content->size() == size;
}

bool DecompressZstd(absl::string_view frame, size_t size,
                    std::string* content) {
  if (size > kMaxDecompressed) return false;
  content->resize(size);
  const size_t got =
      ZSTD_decompress(&(*content)[0], size, frame.data(), frame.size());
  return ZSTD_isError(got) == 0 && got == size;
}

}  // namespace holdfast::cuda
