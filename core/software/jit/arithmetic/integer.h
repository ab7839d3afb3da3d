// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of integers of 16, 32 and 64 bits, scalars or vectors.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_INTEGER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_INTEGER_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns a + b, clamped to the range of a signed type if `saturate`.
llvm::Value* SumWith(Builder& ir, bool saturate, llvm::Value* a,
                     llvm::Value* b);

// Returns the low half (.lo), the high half (.hi) or all (.wide) of the
// product.
llvm::Value* Multiply(Builder& ir, const ptx::Instruction& instruction,
                      llvm::Value* a, llvm::Value* b);

// Returns the result of shl or shr. A count beyond the width gives 0, or the
// sign for a signed shr.
llvm::Value* Shift(Builder& ir, const ptx::Instruction& instruction,
                   llvm::Value* a, llvm::Value* count);

// Returns null if neither this file nor bits.h has such an operation.
llvm::Value* ComputeInteger(Builder& ir, const ptx::Instruction& instruction,
                            Values in);

// Computes both halves of .u16x2 or .s16x2. Returns null if there is no such
// operation.
llvm::Value* ComputeIntegerPairs(Builder& ir,
                                 const ptx::Instruction& instruction,
                                 Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_INTEGER_H_
