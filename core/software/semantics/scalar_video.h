// SPDX-License-Identifier: Apache-2.0
//
// Computes video instructions on one number: vadd, vmad, vset and others.
#ifndef HOLDFAST_CORE_SOFTWARE_SEMANTICS_SCALAR_VIDEO_H_
#define HOLDFAST_CORE_SOFTWARE_SEMANTICS_SCALAR_VIDEO_H_

#include <cstdint>

#include "core/software/semantics/video_operation.h"

namespace holdfast::software {

// A video instruction on one number, without the values of its operands.
struct ScalarVideo {
  // The second operation, which combines the result with c.
  enum class Second : uint8_t { kNothing, kAdd, kMin, kMax };
  // The part of a register that is the operand or the result.
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
  Part d = Part::kWhole;  // the other parts of d are copied from c
  bool signed_a = false;
  bool signed_b = false;
  bool signed_result = false;
  bool saturate = false;
  bool wrap = false;            // true: shift counts wrap; false: clamped
  bool negate_product = false;  // for vmad
  bool negate_c = false;        // for vmad
  bool plus_one = false;        // for vmad: adds 1
  uint8_t scale = 0;            // for vmad: the right shift of the result
};

// Pack the instruction into one word, for calls from generated code, and back.
uint32_t PackScalarVideo(const ScalarVideo& video);
ScalarVideo UnpackScalarVideo(uint32_t option);

// Returns the result of the instruction for operands a, b and c.
uint32_t ComputeScalarVideo(const ScalarVideo& video, uint32_t a, uint32_t b,
                            uint32_t c);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_SEMANTICS_SCALAR_VIDEO_H_
