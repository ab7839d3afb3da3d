// SPDX-License-Identifier: Apache-2.0
//
// Computes video instructions on packed numbers: vadd2, vabsdiff4 and others.
#ifndef HOLDFAST_CORE_SOFTWARE_SEMANTICS_VIDEO_H_
#define HOLDFAST_CORE_SOFTWARE_SEMANTICS_VIDEO_H_

#include <cstdint>

#include "core/software/semantics/video_operation.h"

namespace holdfast::software {

// A video instruction on packed numbers, without the values of its operands.
// The operation applies to each part of the operands.
struct Video {
  VideoOperation operation = VideoOperation::kAdd;
  bool bytes = false;  // true: four bytes; false: two halves
  bool signed_result = false;
  bool signed_a = false;
  bool signed_b = false;
  bool saturate = false;
  bool accumulate = false;  // the result is the sum of all parts and c
  // Bit i is set if part i, counted from the lowest, is computed. The other
  // parts are copied from c. With `accumulate`, they are left out of the sum.
  uint8_t mask = 15;
};

// Pack the instruction into one word, for calls from generated code, and back.
uint32_t PackVideo(const Video& video);
Video UnpackVideo(uint32_t option);

// Returns the result of the instruction for operands a, b and c.
uint32_t ComputeVideo(const Video& video, uint32_t a, uint32_t b, uint32_t c);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_SEMANTICS_VIDEO_H_
