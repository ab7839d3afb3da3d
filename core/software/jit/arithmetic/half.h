// SPDX-License-Identifier: Apache-2.0
//
// Emits arithmetic of f16 and bf16, alone and in pairs. A half is one f16 or
// bf16. Registers hold the bits of halves as integers. The code computes in f32
// such that only the final rounding to a half affects the result.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_HALF_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_HALF_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// FloatOfHalf converts the bits of an f16 or bf16 to an f32, which is exact.
// HalfOfFloat converts an f32 to these bits, and rounds to nearest even.
llvm::Value* FloatOfHalf(Builder& ir, ptx::Type type, llvm::Value* bits);
llvm::Value* HalfOfFloat(Builder& ir, ptx::Type type, llvm::Value* value);

// Returns the bits of an f16 after .ftz: a subnormal number becomes a zero of
// its sign.
llvm::Value* FlushHalf(Builder& ir, llvm::Value* bits);

// Returns the bits of one half of a packed register: the low half if `shift` is
// 0, the high half if it is 16.
llvm::Value* HalfAt(Builder& ir, llvm::Value* pair, int shift);

// Returns the bits of the result or, for packed types, of both results. Returns
// null if there is no such operation.
llvm::Value* ComputeHalves(Builder& ir, const ptx::Instruction& instruction,
                           Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_HALF_H_
