// SPDX-License-Identifier: Apache-2.0
//
// f32 and f64.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_FLOAT_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_FLOAT_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Flushes an f32: a subnormal number becomes a zero of its sign (.ftz).
llvm::Value* Flush(Builder& ir, llvm::Value* value);

// To [0, 1]; NaN becomes 0.
llvm::Value* Saturate(Builder& ir, llvm::Value* value);

// A number wins over NaN unless .NaN wants the reverse, and -0 is less than
// +0; .xorsign.abs is about magnitudes, with the product's sign.
llvm::Value* MinMax(Builder& ir, const ptx::Instruction& instruction,
                    llvm::Value* a, llvm::Value* b);

// Null: there is no such operation.
llvm::Value* ComputeFloat(Builder& ir, const ptx::Instruction& instruction,
                          Values operands);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_FLOAT_H_
