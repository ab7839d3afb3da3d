// SPDX-License-Identifier: Apache-2.0
//
// The video instructions of packed numbers: vadd2, vabsdiff4 and the like.
#ifndef HOLDFAST_CORE_SOFTWARE_SEMANTICS_VIDEO_H_
#define HOLDFAST_CORE_SOFTWARE_SEMANTICS_VIDEO_H_

#include <cstdint>

#include "core/software/semantics/video_operation.h"

namespace holdfast::software {

// The operation of a video instruction on each part of its operands.
struct Video {
  VideoOperation operation = VideoOperation::kAdd;
  bool bytes = false;  // four bytes; else two halves
  bool signed_result = false;
  bool signed_a = false;
  bool signed_b = false;
  bool saturate = false;
  bool accumulate = false;  // returns the sum of the parts and c, not the parts
  // A bit for each part that is computed, the lowest part first. The other
  // parts are copied from c, or with `accumulate` are left out of the sum.
  uint8_t mask = 15;
};

// Packs the instruction into one word, for calls from generated code.
uint32_t PackVideo(const Video& video);
Video UnpackVideo(uint32_t option);

// Returns the result of the instruction for operands a, b and c.
uint32_t ComputeVideo(const Video& video, uint32_t a, uint32_t b, uint32_t c);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_SEMANTICS_VIDEO_H_
