// SPDX-License-Identifier: Apache-2.0
//
// Integers of 16, 32 and 64 bits, scalars or vectors.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_INTEGER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_INTEGER_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// a + b, clamped to the range of a signed type if `saturate`.
llvm::Value* SumWith(Builder& ir, bool saturate, llvm::Value* a,
                     llvm::Value* b);

// The product as .lo, .hi or .wide says.
llvm::Value* Multiply(Builder& ir, const ptx::Instruction& instruction,
                      llvm::Value* a, llvm::Value* b);

// shl or shr. Counts beyond the width leave 0, or the sign.
llvm::Value* Shift(Builder& ir, const ptx::Instruction& instruction,
                   llvm::Value* a, llvm::Value* count);

// Null: there is no such operation, here or in bits.h.
llvm::Value* ComputeInteger(Builder& ir, const ptx::Instruction& instruction,
                            Values in);

// Both halves of .u16x2 or .s16x2 at once. Null: there is no such operation.
llvm::Value* ComputeIntegerPairs(Builder& ir,
                                 const ptx::Instruction& instruction,
                                 Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_INTEGER_H_
