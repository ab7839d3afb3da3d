// SPDX-License-Identifier: Apache-2.0
//
// Emits cvt. Common conversions become vector code. All others call the scalar
// definition (semantics/conversion.h) lane by lane.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_CONVERSION_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_CONVERSION_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns the result of the cvt instruction. `in` as for Compute (compute.h).
// Never returns null.
llvm::Value* Convert(Builder& ir, const ptx::Instruction& instruction,
                     Values in);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_CONVERSION_H_
