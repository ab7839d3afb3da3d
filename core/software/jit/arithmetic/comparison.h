// SPDX-License-Identifier: Apache-2.0
//
// setp, set, and what they compare.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPARISON_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPARISON_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// An i1 for each. Null if the type cannot be compared like that.
llvm::Value* Compare(Builder& ir, const ptx::Instruction& instruction,
                     ptx::Type type, llvm::Value* a, llvm::Value* b);

// `holds` .and, .or or .xor a predicate.
llvm::Value* Combine(Builder& ir, const ptx::Instruction& instruction,
                     llvm::Value* holds, llvm::Value* with);

// set of one or, in packed types, of both halves: ones or 1.0 where the
// comparison holds. Null as above.
llvm::Value* ComputeSet(Builder& ir, const ptx::Instruction& instruction,
                        Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPARISON_H_
