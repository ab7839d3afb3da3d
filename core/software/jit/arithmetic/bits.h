// SPDX-License-Identifier: Apache-2.0
//
// Integer operations on bits, bytes and narrow products.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_BITS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_BITS_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// lop3: bit i of the table is the result for the i-th combination, a being the
// high bit of i.
llvm::Value* LookUpLogic(Builder& ir, llvm::Value* a, llvm::Value* b,
                         llvm::Value* c, uint8_t table);

// Null: there is no such operation, here or in video.h.
llvm::Value* ComputeBits(Builder& ir, const ptx::Instruction& instruction,
                         Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_BITS_H_
