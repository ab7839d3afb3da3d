// SPDX-License-Identifier: Apache-2.0
#include "client/cli/collection/strided_elements.h"

#include <algorithm>
#include <cstring>

#include "core/base/array_layout.h"

namespace holdfast::cli {

StridedElements::StridedElements(absl::string_view dtype,
                                 absl::Span<const uint64_t> shape,
                                 absl::Span<const int64_t> strides,
                                 absl::string_view bytes)
    : bytes_(bytes),
      element_(ElementBits(dtype) / 8),
      shape_(shape.begin(), shape.end()),
      index_(shape.size(), 0) {
  size_ = element_;
  for (const uint64_t extent : shape) size_ *= extent;
  for (const int64_t stride : strides) {
    strides_.push_back(static_cast<uint64_t>(stride) * element_);
  }
}

void StridedElements::Advance() {
  for (size_t i = shape_.size(); i-- > 0;) {
    offset_ += strides_[i];
    if (++index_[i] < shape_[i]) return;
    offset_ -= strides_[i] * shape_[i];
    index_[i] = 0;
  }
}

void StridedElements::Read(std::string& piece) {
  piece.resize(std::min<uint64_t>(piece.size(), size_ - done_));
  for (size_t at = 0; at < piece.size(); at += element_) {
    std::memcpy(piece.data() + at, bytes_.data() + offset_, element_);
    Advance();
  }
  done_ += piece.size();
}

}  // namespace holdfast::cli
