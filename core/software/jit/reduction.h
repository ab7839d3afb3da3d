// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_REDUCTION_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_REDUCTION_H_

#include "core/software/jit/lane_values.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns one scalar: the result of the instruction's operation (.add, .min,
// .max, .and, .or or .xor) on the values of the lanes in `members` (i32). For
// no members, the result is the neutral element of the operation.
llvm::Value* Reduce(Builder& b, const ptx::Instruction& instruction,
                    const Value& value, llvm::Value* members);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_REDUCTION_H_
