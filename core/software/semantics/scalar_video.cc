// SPDX-License-Identifier: Apache-2.0
//
// Numbers are wide enough for every exact result: a product of 32-bit numbers,
// and a number that is shifted left by 32.
#include "core/software/semantics/scalar_video.h"

#include <algorithm>

namespace holdfast::software {
namespace {

using Operation = VideoOperation;
using Part = ScalarVideo::Part;
using Second = ScalarVideo::Second;
using Wide = __int128;

struct Field {
  int shift;
  int bits;
};

Field FieldOf(Part part) {
  switch (part) {
    case Part::kWhole:
      return {0, 32};
    case Part::kHalf0:
      return {0, 16};
    case Part::kHalf1:
      return {16, 16};
    default:
      return {8 * (static_cast<int>(part) - static_cast<int>(Part::kByte0)), 8};
  }
}

Wide NumberIn(uint32_t word, Part part, bool is_signed) {
  const Field field = FieldOf(part);
  const uint32_t high = word << (32 - field.bits - field.shift);
  return is_signed ? Wide{static_cast<int32_t>(high) >> (32 - field.bits)}
                   : Wide{high >> (32 - field.bits)};
}

Wide ClampTo(int bits, bool is_signed, Wide value) {
  const Wide low = is_signed ? -(Wide{1} << (bits - 1)) : 0;
  return std::clamp(value, low, low + (Wide{1} << bits) - 1);
}

Wide Shifted(const ScalarVideo& video, Wide a, Wide b) {
  const int count = video.wrap ? static_cast<int>(b & 31)
                               : static_cast<int>(std::min<Wide>(b, 32));
  return video.operation == Operation::kShiftLeft ? a << count : a >> count;
}

Wide Apply(const ScalarVideo& video, Wide a, Wide b) {
  const bool shifts = video.operation == Operation::kShiftLeft ||
                      video.operation == Operation::kShiftRight;
  return shifts ? Shifted(video, a, b)
                : ApplyVideoOperation(video.operation, a, b);
}

Wide WithSecond(Second second, Wide value, Wide c) {
  switch (second) {
    case Second::kNothing:
      return value;
    case Second::kAdd:
      return value + c;
    case Second::kMin:
      return std::min(value, c);
    case Second::kMax:
      return std::max(value, c);
  }
  return value;
}

// A sign of a factor, or of the addend, inverts all bits and adds one.
Wide MultiplyAdd(const ScalarVideo& video, Wide a, Wide b, uint32_t c) {
  const bool is_signed = video.signed_a || video.signed_b ||
                         video.negate_product || video.negate_c;
  const Wide product = video.negate_product ? -(a * b) : a * b;
  const uint32_t addend = video.negate_c ? ~c : c;
  Wide sum = product + NumberIn(addend, Part::kWhole, is_signed);
  if (video.plus_one || video.negate_c) ++sum;
  sum >>= video.scale;
  return video.saturate ? ClampTo(32, is_signed, sum) : sum;
}

}  // namespace

uint32_t PackScalarVideo(const ScalarVideo& video) {
  return static_cast<uint32_t>(video.operation) |
         static_cast<uint32_t>(video.second) << 4 |
         static_cast<uint32_t>(video.a) << 6 |
         static_cast<uint32_t>(video.b) << 9 |
         static_cast<uint32_t>(video.d) << 12 | uint32_t{video.signed_a} << 15 |
         uint32_t{video.signed_b} << 16 | uint32_t{video.signed_result} << 17 |
         uint32_t{video.saturate} << 18 | uint32_t{video.wrap} << 19 |
         uint32_t{video.negate_product} << 20 | uint32_t{video.negate_c} << 21 |
         uint32_t{video.plus_one} << 22 | uint32_t{video.scale} << 23;
}

ScalarVideo UnpackScalarVideo(uint32_t option) {
  const auto flag = [&](int at) { return (option >> at & 1) != 0; };
  const auto part = [&](int at) { return static_cast<Part>(option >> at & 7); };
  ScalarVideo video;
  video.operation = static_cast<Operation>(option & 15);
  video.second = static_cast<Second>(option >> 4 & 3);
  video.a = part(6);
  video.b = part(9);
  video.d = part(12);
  video.signed_a = flag(15);
  video.signed_b = flag(16);
  video.signed_result = flag(17);
  video.saturate = flag(18);
  video.wrap = flag(19);
  video.negate_product = flag(20);
  video.negate_c = flag(21);
  video.plus_one = flag(22);
  video.scale = static_cast<uint8_t>(option >> 23);
  return video;
}

uint32_t ComputeScalarVideo(const ScalarVideo& video, uint32_t a, uint32_t b,
                            uint32_t c) {
  const Wide x = NumberIn(a, video.a, video.signed_a);
  const Wide y = NumberIn(b, video.b, video.signed_b);
  if (video.operation == Operation::kMultiplyAdd) {
    return static_cast<uint32_t>(MultiplyAdd(video, x, y, c));
  }
  const Field field = FieldOf(video.d);
  Wide value = Apply(video, x, y);
  if (video.saturate) value = ClampTo(field.bits, video.signed_result, value);
  value = WithSecond(video.second, value,
                     NumberIn(c, Part::kWhole, video.signed_result));
  const auto word = static_cast<uint32_t>(value);
  if (video.d == Part::kWhole) return word;
  const uint32_t mask = ((uint32_t{1} << field.bits) - 1) << field.shift;
  return (word << field.shift & mask) | (c & ~mask);
}

}  // namespace holdfast::software
