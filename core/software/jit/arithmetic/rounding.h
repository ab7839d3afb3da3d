// SPDX-License-Identifier: Apache-2.0
//
// Emits sums and products of f32 with other roundings than the CPU's mode. Each
// function returns the rounded a * b + c; a + c if `b` is null; a * b if `c` is
// null.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUNDING_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUNDING_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// `rounding` is .rz, .rm or .rp.
llvm::Value* RoundDirected(Builder& ir, ptx::Modifier rounding, llvm::Value* a,
                           llvm::Value* b, llvm::Value* c);

// Rounds to odd: if the result is not exact, returns the neighbour whose last
// bit is 1. A second rounding, to fewer bits, then has the same result as a
// rounding of the exact value.
llvm::Value* RoundOdd(Builder& ir, llvm::Value* a, llvm::Value* b,
                      llvm::Value* c);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUNDING_H_
