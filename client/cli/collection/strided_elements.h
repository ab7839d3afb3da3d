// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COLLECTION_STRIDED_ELEMENTS_H_
#define HOLDFAST_CLIENT_CLI_COLLECTION_STRIDED_ELEMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace holdfast::cli {

// Reads the elements of a strided array in C order, for file formats that have
// no strides.
class StridedElements {
 public:
  // `bytes` are the bytes of the array, from its first element to the end of
  // its last, and must outlive this object. REQUIRES: bytes.size() is
  // ArrayExtent(dtype, shape, strides).
  StridedElements(absl::string_view dtype, absl::Span<const uint64_t> shape,
                  absl::Span<const int64_t> strides, absl::string_view bytes);

  // The number of bytes of all elements.
  uint64_t size() const { return size_; }

  // Fills `piece` with the next elements. Shrinks `piece` if fewer elements are
  // left; an empty piece means that all elements were read. REQUIRES:
  // piece.size() is a multiple of the size of an element.
  void Read(std::string& piece);

 private:
  // Moves to the next element.
  void Advance();

  const absl::string_view bytes_;
  const uint64_t element_;  // bytes of one
  const std::vector<uint64_t> shape_;
  std::vector<uint64_t> strides_;  // bytes
  uint64_t size_ = 0;
  uint64_t done_ = 0;
  std::vector<uint64_t> index_;  // of the next element
  uint64_t offset_ = 0;          // of the next element, in bytes
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLLECTION_STRIDED_ELEMENTS_H_
