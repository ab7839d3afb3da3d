// SPDX-License-Identifier: Apache-2.0
//
// Operations that take many instructions, such as ex2, are emitted as separate
// functions, which are called for each chunk. Inlined code for four chunks
// would take LLVM four times as long.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUTINE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUTINE_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns true if the instruction is such an operation.
bool IsRoutine(const ptx::Instruction& instruction);

// Emits a call of the instruction's function, which is generated on first use.
// `in` as for Compute. Returns null if there is no such operation.
llvm::Value* CallRoutine(Builder& ir, const ptx::Instruction& instruction,
                         Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUTINE_H_
