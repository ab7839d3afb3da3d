// SPDX-License-Identifier: Apache-2.0
//
// Emits calls of operations that have only a scalar definition
// (core/software/semantics). There is one call for all lanes of a chunk.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_SCALAR_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_SCALAR_H_

#include <string>

#include "core/software/jit/arithmetic/builder.h"

namespace holdfast::software::jit {

// Emits a call of the definition `name`, and returns the result. `in` are one
// to three integers or floating-point numbers. Either all are scalars, or all
// are vectors. `result` is the type of one lane's result. `option` is passed to
// the definition. The definition also computes lanes that do not run, which has
// no effect.
llvm::Value* CallScalar(Builder& ir, const std::string& name, Values in,
                        uint32_t option, llvm::Type* result);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_SCALAR_H_
