// SPDX-License-Identifier: Apache-2.0
//
// Sets the CPU's rounding mode for the lifetime of an object.
#ifndef HOLDFAST_CORE_SOFTWARE_SEMANTICS_ROUNDING_SCOPE_H_
#define HOLDFAST_CORE_SOFTWARE_SEMANTICS_ROUNDING_SCOPE_H_

#include <xmmintrin.h>

#include <cstdint>

namespace holdfast::software {

// While this object lives, SSE and AVX arithmetic of the calling thread rounds
// as `rounding` says: 0 to the nearest, 1 toward zero, 2 down, 3 up. Values
// that depend on the rounding must be volatile, because compilers otherwise
// move arithmetic out of the scope. The code must be compiled with
// -frounding-math.
class RoundingScope {
 public:
  explicit RoundingScope(uint32_t rounding) : before_(_mm_getcsr()) {
    static constexpr unsigned kModes[4] = {
        _MM_ROUND_NEAREST, _MM_ROUND_TOWARD_ZERO, _MM_ROUND_DOWN, _MM_ROUND_UP};
    _mm_setcsr((before_ & ~unsigned{_MM_ROUND_MASK}) | kModes[rounding & 3]);
  }
  ~RoundingScope() { _mm_setcsr(before_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  const unsigned before_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_SEMANTICS_ROUNDING_SCOPE_H_
