// SPDX-License-Identifier: Apache-2.0
//
// Sums and products of f32 in other roundings than the processor's. Each is
// a * b + c; `b` null: a + c; `c` null: a * b.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUNDING_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUNDING_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// .rz, .rm or .rp.
llvm::Value* RoundDirected(Builder& ir, ptx::Modifier rounding, llvm::Value* a,
                           llvm::Value* b, llvm::Value* c);

// To the neighbour with an odd last place if the result is not exact: rounded
// again to fewer digits it is as the exact result would be.
llvm::Value* RoundOdd(Builder& ir, llvm::Value* a, llvm::Value* b,
                      llvm::Value* c);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUNDING_H_
