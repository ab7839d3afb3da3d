// SPDX-License-Identifier: Apache-2.0
//
// Operations that take many instructions, such as ex2, are functions of their
// own, called for each chunk: four times as much code would take LLVM four
// times as long.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUTINE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUTINE_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Is the instruction's code straight-line: no calls, and no blocks?
bool IsRoutine(const ptx::Instruction& instruction);

// Null: there is no such operation.
llvm::Value* CallRoutine(Builder& ir, const ptx::Instruction& instruction,
                         Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_ROUTINE_H_
