// SPDX-License-Identifier: Apache-2.0
//
// Emits video instructions on one number (vadd, vmad, ...), and on the bytes or
// halves of a word (vadd2, vset4, ...).
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_VIDEO_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_VIDEO_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns the result of the instruction; null if it is not a video instruction.
// `in` is as for Compute (compute.h).
llvm::Value* ComputeVideoInstruction(Builder& ir,
                                     const ptx::Instruction& instruction,
                                     Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_VIDEO_H_
