// SPDX-License-Identifier: Apache-2.0
//
// Emits integer operations on bits and bytes, and products of narrow integers.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_BITS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_BITS_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns the result of lop3. Bit i of `table` is the result for the bits of a,
// b and c that form the number i. The bit of a is the highest bit of i.
llvm::Value* LookUpLogic(Builder& ir, llvm::Value* a, llvm::Value* b,
                         llvm::Value* c, uint8_t table);

// Returns the result of the instruction, whose sources are `in`; null if
// neither this file nor video.h has the operation.
llvm::Value* ComputeBits(Builder& ir, const ptx::Instruction& instruction,
                         Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_BITS_H_
