// SPDX-License-Identifier: Apache-2.0
//
// f16 and bf16, alone and in pairs. Registers hold their bits; arithmetic is
// done in float such that the one rounding at the end is the only one that
// shows.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_HALF_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_HALF_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// The bits of an f16 or bf16 as a float, exactly, and back.
llvm::Value* FloatOfHalf(Builder& ir, ptx::Type type, llvm::Value* bits);
llvm::Value* HalfOfFloat(Builder& ir, ptx::Type type, llvm::Value* value);

// Flushes an f16: a subnormal number becomes a zero of its sign (.ftz).
llvm::Value* FlushHalf(Builder& ir, llvm::Value* bits);

// Returns one half of a packed register; `shift` is 0 or 16.
llvm::Value* HalfAt(Builder& ir, llvm::Value* pair, int shift);

// Computes one number or, for packed types, both. Returns null if there is no
// such operation.
llvm::Value* ComputeHalves(Builder& ir, const ptx::Instruction& instruction,
                           Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_HALF_H_
