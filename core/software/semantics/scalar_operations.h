// SPDX-License-Identifier: Apache-2.0
//
// Operations that are too rare for their own vector code. Each has one scalar
// definition, which generated code calls for each lane.
#ifndef HOLDFAST_CORE_SOFTWARE_SEMANTICS_SCALAR_OPERATIONS_H_
#define HOLDFAST_CORE_SOFTWARE_SEMANTICS_SCALAR_OPERATIONS_H_

#include <cstdint>

namespace holdfast::software {

// Operands and results are the bits of a lane's registers. `option` is the
// rounding of arithmetic, 0 to 3 for .rn, .rz, .rm, .rp; or the packed word of
// a conversion or video instruction.
using ScalarOperation = uint64_t(uint64_t a, uint64_t b, uint64_t c,
                                 uint32_t option);

// results[i] = operation(a[i], b[i], c[i], option) for i < count. Operations
// with fewer operands ignore the others.
using LaneOperation = void(const uint64_t* a, const uint64_t* b,
                           const uint64_t* c, uint64_t* results, uint32_t count,
                           uint32_t option);

// X(name)
#define HOLDFAST_SCALAR_OPERATIONS(X) \
  X(add_f64)                          \
  X(mul_f64)                          \
  X(fma_f64)                          \
  X(div_f32)                          \
  X(div_f64)                          \
  X(sqrt_f32) X(sqrt_f64) X(convert) X(find_nth) X(video) X(scalar_video)

extern "C" {
#define X(name) LaneOperation holdfast_scalar_##name;
HOLDFAST_SCALAR_OPERATIONS(X)
#undef X
}

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_SEMANTICS_SCALAR_OPERATIONS_H_
