// SPDX-License-Identifier: Apache-2.0
//
// Integer operations on bits, bytes and narrow products.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_BITS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_BITS_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns lop3: bit i of `table` is the result for the bits of a, b and c that
// form the number i; the bit of a is the highest.
llvm::Value* LookUpLogic(Builder& ir, llvm::Value* a, llvm::Value* b,
                         llvm::Value* c, uint8_t table);

// Returns the result of the instruction; null if neither this file nor video.h
// has its operation.
llvm::Value* ComputeBits(Builder& ir, const ptx::Instruction& instruction,
                         Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_BITS_H_
