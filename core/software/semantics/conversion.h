// SPDX-License-Identifier: Apache-2.0
//
// Computes the results of the instruction cvt for all pairs of types.
#ifndef HOLDFAST_CORE_SOFTWARE_SEMANTICS_CONVERSION_H_
#define HOLDFAST_CORE_SOFTWARE_SEMANTICS_CONVERSION_H_

#include <cstdint>

#include "core/software/ptx/types.h"

namespace holdfast::software {

// The description of a conversion. The members without comments are the
// modifiers of cvt.
struct Conversion {
  enum class Rounding : uint8_t { kNearest, kZero, kDown, kUp, kAway };

  ptx::Type to = ptx::Type::kNone;
  ptx::Type from = ptx::Type::kNone;
  Rounding rounding = Rounding::kNearest;
  bool whole = false;  // rounds to a whole number first
  bool ftz = false;
  bool saturate = false;
  bool relu = false;
  bool finite = false;  // .satfinite
  bool pack = false;    // cvt.pack
};

// Pack the conversion into one word, for calls from generated code, and back.
uint32_t PackConversion(const Conversion& conversion);
Conversion UnpackConversion(uint32_t option);

// Returns the bits of the converted `a`. If the result type is packed, the
// result has the converted `a` in the high half and the converted `b` in the
// low half. If the source type is also packed, `a` has both numbers. For
// cvt.pack, `c` is the third operand.
uint64_t Convert(const Conversion& conversion, uint64_t a, uint64_t b,
                 uint64_t c);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_SEMANTICS_CONVERSION_H_
