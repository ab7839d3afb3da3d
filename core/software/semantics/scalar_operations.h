// SPDX-License-Identifier: Apache-2.0
//
// Operations that are too rare for vector code of their own. Each has one
// scalar definition, which generated code calls for all lanes.
#ifndef HOLDFAST_CORE_SOFTWARE_SEMANTICS_SCALAR_OPERATIONS_H_
#define HOLDFAST_CORE_SOFTWARE_SEMANTICS_SCALAR_OPERATIONS_H_

#include <cstdint>

namespace holdfast::software {

// An operation on the values of one lane. Operands and results are the bits of
// registers. `option` is the rounding of arithmetic, 0 to 3 for .rn, .rz, .rm
// and .rp; or the packed word of a conversion or a video instruction.
using ScalarOperation = uint64_t(uint64_t a, uint64_t b, uint64_t c,
                                 uint32_t option);

// An operation on the values of `count` lanes: results[i] is the result of the
// scalar operation for a[i], b[i], c[i] and `option`. Operations with fewer
// operands ignore the other arrays.
using LaneOperation = void(const uint64_t* a, const uint64_t* b,
                           const uint64_t* c, uint64_t* results, uint32_t count,
                           uint32_t option);

// Calls X(name) for each operation.
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
