// SPDX-License-Identifier: Apache-2.0
//
// Emits operations that take many instructions, such as ex2, as functions of
// their own, which are called for each chunk. LLVM would need four times as
// long for inlined code of four chunks.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUTINE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUTINE_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns true if the instruction is emitted as a function of its own.
bool IsRoutine(const ptx::Instruction& instruction);

// Emits a call of the instruction's function, and returns the result. The first
// call for an operation generates the function. `in` are vectors of one chunk,
// with the types that Compute expects. Returns null if there is no such
// operation.
llvm::Value* CallRoutine(Builder& ir, const ptx::Instruction& instruction,
                         Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUTINE_H_
