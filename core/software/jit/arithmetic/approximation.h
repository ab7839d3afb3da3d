// SPDX-License-Identifier: Apache-2.0
//
// Functions that the PTX manual gives with an error bound: computed in double
// precision and rounded once, which is far within every bound.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_APPROXIMATION_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_APPROXIMATION_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// ex2, lg2, sin, cos or tanh of f32. Null: it is none of them.
llvm::Value* Approximate(Builder& ir, const ptx::Instruction& instruction,
                         llvm::Value* x);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_APPROXIMATION_H_
