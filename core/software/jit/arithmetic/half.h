// SPDX-License-Identifier: Apache-2.0
//
// Emits arithmetic of f16 and bf16, alone and in pairs. Registers hold their
// bits. Operations compute in float such that only the final rounding to a half
// affects the result.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_HALF_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_HALF_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Convert the bits of an f16 or bf16 to a float, exactly, and a float to such
// bits, rounded to nearest even.
llvm::Value* FloatOfHalf(Builder& ir, ptx::Type type, llvm::Value* bits);
llvm::Value* HalfOfFloat(Builder& ir, ptx::Type type, llvm::Value* value);

// Flushes an f16: a subnormal number becomes a zero of its sign (.ftz).
llvm::Value* FlushHalf(Builder& ir, llvm::Value* bits);

// Returns one half of a packed register; `shift` is 0 or 16.
llvm::Value* HalfAt(Builder& ir, llvm::Value* pair, int shift);

// Returns the bits of the result or, for packed types, of both results. Null:
// there is no such operation.
llvm::Value* ComputeHalves(Builder& ir, const ptx::Instruction& instruction,
                           Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_HALF_H_
