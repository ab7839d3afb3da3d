// SPDX-License-Identifier: Apache-2.0
//
// Emits arithmetic of f32 and f64. The values are scalars, or vectors of the
// lanes of one chunk.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_FLOAT_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_FLOAT_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns an f32 after .ftz: a subnormal number becomes a zero of its sign.
// Returns an f64 as it is.
llvm::Value* Flush(Builder& ir, llvm::Value* value);

// Returns the value clamped to [0, 1]. NaN becomes 0.
llvm::Value* Saturate(Builder& ir, llvm::Value* value);

// Returns the minimum or maximum of `a` and `b`. If one operand is NaN, the
// result is the other operand, or NaN with .NaN. -0 is less than +0.
// .xorsign.abs compares the magnitudes, and the result has the sign of the
// product.
llvm::Value* MinMax(Builder& ir, const ptx::Instruction& instruction,
                    llvm::Value* a, llvm::Value* b);

// Returns the result of the instruction, whose sources are `operands`; null if
// there is no such operation.
llvm::Value* ComputeFloat(Builder& ir, const ptx::Instruction& instruction,
                          Values operands);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_FLOAT_H_
