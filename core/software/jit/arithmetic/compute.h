// SPDX-License-Identifier: Apache-2.0
//
// Computes the results of instructions that touch neither memory, control flow
// nor other lanes.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPUTE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPUTE_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// The type as which source operand `at` is read.
ptx::Type SourceType(const ptx::Instruction& instruction, size_t at);

ptx::Type ResultType(const ptx::Instruction& instruction);

// Null: there is no such operation. cvta, mapa and getctarank are none: they
// want addresses of the warp.
llvm::Value* Compute(Builder& ir, const ptx::Instruction& instruction,
                     Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPUTE_H_
