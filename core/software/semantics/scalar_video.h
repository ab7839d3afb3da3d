// SPDX-License-Identifier: Apache-2.0
//
// The video instructions of one number: vadd, vmad, vset and the like.
#ifndef HOLDFAST_CORE_SOFTWARE_SEMANTICS_SCALAR_VIDEO_H_
#define HOLDFAST_CORE_SOFTWARE_SEMANTICS_SCALAR_VIDEO_H_

#include <cstdint>

#include "core/software/semantics/video_operation.h"

namespace holdfast::software {

// A video instruction of one number, without the values of its operands.
struct ScalarVideo {
  // The second operation, which combines the result with c.
  enum class Second : uint8_t { kNothing, kAdd, kMin, kMax };
  // The part of a register that stands for an operand.
  enum class Part : uint8_t {
    kWhole,
    kByte0,
    kByte1,
    kByte2,
    kByte3,
    kHalf0,
    kHalf1,
  };

  VideoOperation operation = VideoOperation::kAdd;
  Second second = Second::kNothing;
  Part a = Part::kWhole;
  Part b = Part::kWhole;
  Part d = Part::kWhole;  // the rest of d is copied from c
  bool signed_a = false;
  bool signed_b = false;
  bool signed_result = false;
  bool saturate = false;
  bool wrap = false;            // shift counts wrap; else they are clamped
  bool negate_product = false;  // of vmad
  bool negate_c = false;        // of vmad
  bool plus_one = false;        // of vmad
  uint8_t scale = 0;            // of vmad: the right shift of its result
};

// Packs the instruction into one word, for calls from generated code.
uint32_t PackScalarVideo(const ScalarVideo& video);
ScalarVideo UnpackScalarVideo(uint32_t option);

// Returns the result of the instruction for operands a, b and c.
uint32_t ComputeScalarVideo(const ScalarVideo& video, uint32_t a, uint32_t b,
                            uint32_t c);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_SEMANTICS_SCALAR_VIDEO_H_
