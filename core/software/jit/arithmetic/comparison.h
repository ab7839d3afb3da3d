// SPDX-License-Identifier: Apache-2.0
//
// Emits the comparisons of setp and set.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPARISON_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPARISON_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Emits the comparison of a with b. Returns an i1, or a vector of them. Null:
// values of the type cannot be compared like that.
llvm::Value* Compare(Builder& ir, const ptx::Instruction& instruction,
                     ptx::Type type, llvm::Value* a, llvm::Value* b);

// Combines the result of a comparison with the predicate `with`, by the
// instruction's .and, .or or .xor.
llvm::Value* Combine(Builder& ir, const ptx::Instruction& instruction,
                     llvm::Value* holds, llvm::Value* with);

// Emits set. The result is 1.0 (float types) or all ones (integer types) where
// the comparison holds, else 0; packed types have a result for each half. Null
// as Compare.
llvm::Value* ComputeSet(Builder& ir, const ptx::Instruction& instruction,
                        Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPARISON_H_
