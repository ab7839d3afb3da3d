// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of f32 and f64.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_FLOAT_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_FLOAT_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Flushes an f32: a subnormal number becomes a zero of its sign (.ftz).
llvm::Value* Flush(Builder& ir, llvm::Value* value);

// Clamps to [0, 1]; NaN becomes 0.
llvm::Value* Saturate(Builder& ir, llvm::Value* value);

// Returns the minimum or maximum. If one operand is NaN, the result is the
// other operand, or NaN with .NaN. -0 is less than +0. .xorsign.abs compares
// the magnitudes, and the result has the sign of the product.
llvm::Value* MinMax(Builder& ir, const ptx::Instruction& instruction,
                    llvm::Value* a, llvm::Value* b);

// Returns null if there is no such operation.
llvm::Value* ComputeFloat(Builder& ir, const ptx::Instruction& instruction,
                          Values operands);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_FLOAT_H_
