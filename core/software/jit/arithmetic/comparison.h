// SPDX-License-Identifier: Apache-2.0
//
// Emits the comparisons of setp and set.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPARISON_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPARISON_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns the result of the comparison of `a` with `b`: an i1, or a vector of
// i1. Returns null if values of the type do not have this comparison.
llvm::Value* Compare(Builder& ir, const ptx::Instruction& instruction,
                     ptx::Type type, llvm::Value* a, llvm::Value* b);

// Returns the result `holds` of a comparison, combined with the predicate
// `with` by the instruction's .and, .or or .xor.
llvm::Value* Combine(Builder& ir, const ptx::Instruction& instruction,
                     llvm::Value* holds, llvm::Value* with);

// Returns the result of set. The result is 1.0 (float types) or all ones
// (integer types) where the comparison is true, and otherwise 0. Packed types
// have a result for each half. Returns null where Compare does.
llvm::Value* ComputeSet(Builder& ir, const ptx::Instruction& instruction,
                        Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPARISON_H_
