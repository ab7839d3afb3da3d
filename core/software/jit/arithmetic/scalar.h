// SPDX-License-Identifier: Apache-2.0
//
// Emits calls of the operations that have only a scalar definition
// (core/software/semantics): one call for the lanes of a chunk.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_SCALAR_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_SCALAR_H_

#include <string>

#include "core/software/jit/arithmetic/builder.h"

namespace holdfast::software::jit {

// `in` are up to three integers or floating-point numbers, all scalars or all
// vectors; `result` is the type of one lane's result. Lanes that do not run are
// computed, too, which does no harm. `option` is passed to the definition.
llvm::Value* CallScalar(Builder& ir, const std::string& name, Values in,
                        uint32_t option, llvm::Type* result);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_SCALAR_H_
