// SPDX-License-Identifier: Apache-2.0
//
// Emits functions for which the PTX manual gives an error bound. The code
// computes them in double precision and rounds once, so that the error is far
// within every bound.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_APPROXIMATION_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_APPROXIMATION_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns ex2, lg2, sin, cos or tanh of f32; null for another instruction.
llvm::Value* Approximate(Builder& ir, const ptx::Instruction& instruction,
                         llvm::Value* x);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_APPROXIMATION_H_
