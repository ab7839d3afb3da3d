// SPDX-License-Identifier: Apache-2.0
//
// Emits the computation of instructions that use neither memory, control flow
// nor other lanes.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPUTE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPUTE_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns the type as which operand `at`, a source, is read. Operand 0 is the
// destination.
ptx::Type SourceType(const ptx::Instruction& instruction, size_t at);

ptx::Type ResultType(const ptx::Instruction& instruction);

// Returns the result. `in` are the source values, each of its SourceType: all
// scalars, or all vectors of one chunk. Returns null if there is no such
// operation; also for cvta, mapa and getctarank, which need addresses of the
// warp.
llvm::Value* Compute(Builder& ir, const ptx::Instruction& instruction,
                     Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPUTE_H_
