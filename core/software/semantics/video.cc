// SPDX-License-Identifier: Apache-2.0
#include "core/software/semantics/video.h"

#include <algorithm>

namespace holdfast::software {
namespace {

using Operation = VideoOperation;

int32_t PartOf(uint32_t word, int shift, int bits, bool is_signed) {
  const uint32_t high = word << (32 - bits - shift);
  return is_signed ? static_cast<int32_t>(high) >> (32 - bits)
                   : static_cast<int32_t>(high >> (32 - bits));
}

int32_t Apply(Operation operation, int32_t a, int32_t b) {
  if (operation != Operation::kAverage) {
    return ApplyVideoOperation(operation, a, b);
  }
  // Halves go away from zero.
  return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
}

}  // namespace

uint32_t PackVideo(const Video& video) {
  return static_cast<uint32_t>(video.operation) | uint32_t{video.bytes} << 8 |
         uint32_t{video.signed_result} << 9 | uint32_t{video.signed_a} << 10 |
         uint32_t{video.signed_b} << 11 | uint32_t{video.saturate} << 12 |
         uint32_t{video.accumulate} << 13 | uint32_t{video.mask} << 14;
}

Video UnpackVideo(uint32_t option) {
  Video video;
  video.operation = static_cast<Operation>(option & 0xFF);
  video.bytes = (option >> 8 & 1) != 0;
  video.signed_result = (option >> 9 & 1) != 0;
  video.signed_a = (option >> 10 & 1) != 0;
  video.signed_b = (option >> 11 & 1) != 0;
  video.saturate = (option >> 12 & 1) != 0;
  video.accumulate = (option >> 13 & 1) != 0;
  video.mask = static_cast<uint8_t>(option >> 14 & 15);
  return video;
}

uint32_t ComputeVideo(const Video& video, uint32_t a, uint32_t b, uint32_t c) {
  const int bits = video.bytes ? 8 : 16;
  const int32_t low = video.signed_result ? -(1 << (bits - 1)) : 0;
  const int32_t high = (1 << (video.signed_result ? bits - 1 : bits)) - 1;
  const uint32_t mask = (uint32_t{1} << bits) - 1;
  uint32_t sum = c;
  uint32_t parts = 0;
  for (int shift = 0; shift < 32; shift += bits) {
    if ((video.mask >> (shift / bits) & 1) == 0) {
      parts |= c & mask << shift;
      continue;
    }
    int32_t part =
        Apply(video.operation, PartOf(a, shift, bits, video.signed_a),
              PartOf(b, shift, bits, video.signed_b));
    if (video.saturate) part = std::clamp(part, low, high);
    sum += static_cast<uint32_t>(part);
    parts |= (static_cast<uint32_t>(part) & mask) << shift;
  }
  return video.accumulate ? sum : parts;
}

}  // namespace holdfast::software
