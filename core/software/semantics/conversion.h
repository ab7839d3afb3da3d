// SPDX-License-Identifier: Apache-2.0
//
// cvt between any two types, one definition for all of them.
#ifndef HOLDFAST_CORE_SOFTWARE_SEMANTICS_CONVERSION_H_
#define HOLDFAST_CORE_SOFTWARE_SEMANTICS_CONVERSION_H_

#include <cstdint>

#include "core/software/ptx/types.h"

namespace holdfast::software {

// How a cvt instruction converts.
struct Conversion {
  enum class Rounding : uint8_t { kNearest, kZero, kDown, kUp, kAway };

  ptx::Type to = ptx::Type::kNone;
  ptx::Type from = ptx::Type::kNone;
  Rounding rounding = Rounding::kNearest;
  bool whole = false;  // to a whole number first, in that rounding
  bool ftz = false;
  bool saturate = false;
  bool relu = false;
  bool finite = false;  // .satfinite
  bool pack = false;    // cvt.pack
};

// In one word, as generated code passes it on.
uint32_t PackConversion(const Conversion& conversion);
Conversion UnpackConversion(uint32_t option);

// The bits of the result. `a` alone, or into a packed type from two numbers
// (a is the high one); of cvt.pack `c` is what the third operand holds.
uint64_t Convert(const Conversion& conversion, uint64_t a, uint64_t b,
                 uint64_t c);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_SEMANTICS_CONVERSION_H_
