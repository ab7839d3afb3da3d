// SPDX-License-Identifier: Apache-2.0
//
// Emits the computation of instructions that use neither memory, control flow
// nor other lanes.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPUTE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPUTE_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns the type of the source operand `at`. Operand 0 is the destination.
ptx::Type SourceType(const ptx::Instruction& instruction, size_t at);

// Returns the type of the result.
ptx::Type ResultType(const ptx::Instruction& instruction);

// Returns the result of the instruction. `in` are the source values, each with
// its SourceType. Either all are scalars, or all are vectors of one chunk.
// Returns null if there is no such operation. Also returns null for cvta, mapa
// and getctarank, which need addresses of the warp (address_conversion.h).
llvm::Value* Compute(Builder& ir, const ptx::Instruction& instruction,
                     Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_COMPUTE_H_
