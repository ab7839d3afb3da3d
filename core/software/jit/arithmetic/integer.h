// SPDX-License-Identifier: Apache-2.0
//
// Emits arithmetic of integers of 16, 32 and 64 bits. The values are scalars,
// or vectors of the lanes of one chunk.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_INTEGER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_INTEGER_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns a + b. If `saturate` is true, clamps the sum to the range of the
// signed type.
llvm::Value* SumWith(Builder& ir, bool saturate, llvm::Value* a,
                     llvm::Value* b);

// Returns the low half (.lo), the high half (.hi) or all bits (.wide) of the
// product of `a` and `b`.
llvm::Value* Multiply(Builder& ir, const ptx::Instruction& instruction,
                      llvm::Value* a, llvm::Value* b);

// Returns the result of shl or shr of `a` by `count`. If `count` exceeds the
// width, the result is 0, or copies of the sign bit for a signed shr.
llvm::Value* Shift(Builder& ir, const ptx::Instruction& instruction,
                   llvm::Value* a, llvm::Value* count);

// Returns the result of the instruction, whose sources are `in`; null if
// neither this file nor bits.h has the operation.
llvm::Value* ComputeInteger(Builder& ir, const ptx::Instruction& instruction,
                            Values in);

// Returns the result for both halves of .u16x2 or .s16x2; null if there is no
// such operation.
llvm::Value* ComputeIntegerPairs(Builder& ir,
                                 const ptx::Instruction& instruction,
                                 Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_INTEGER_H_
