// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_SEMANTICS_VIDEO_OPERATION_H_
#define HOLDFAST_CORE_SOFTWARE_SEMANTICS_VIDEO_OPERATION_H_

#include <algorithm>
#include <cstdint>

namespace holdfast::software {

// The operations of video instructions on one number and on packed numbers.
enum class VideoOperation : uint8_t {
  kAdd,
  kSub,
  kAverage,  // only for packed numbers
  kAbsoluteDifference,
  kMin,
  kMax,
  kShiftLeft,    // only for one number
  kShiftRight,   // only for one number
  kMultiplyAdd,  // only for one number
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
};

// Returns the result of an operation that both kinds of video instructions
// have; 0 for other operations. REQUIRES: `Number` is wide enough for the exact
// result.
template <typename Number>
Number ApplyVideoOperation(VideoOperation operation, Number a, Number b) {
  switch (operation) {
    case VideoOperation::kAdd:
      return a + b;
    case VideoOperation::kSub:
      return a - b;
    case VideoOperation::kAbsoluteDifference:
      return a < b ? b - a : a - b;
    case VideoOperation::kMin:
      return std::min(a, b);
    case VideoOperation::kMax:
      return std::max(a, b);
    case VideoOperation::kEq:
      return a == b;
    case VideoOperation::kNe:
      return a != b;
    case VideoOperation::kLt:
      return a < b;
    case VideoOperation::kLe:
      return a <= b;
    case VideoOperation::kGt:
      return a > b;
    case VideoOperation::kGe:
      return a >= b;
    default:
      return 0;
  }
}

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_SEMANTICS_VIDEO_OPERATION_H_
