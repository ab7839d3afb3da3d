// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_LAUNCH_VALUES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_LAUNCH_VALUES_H_

#include "core/software/jit/emit_context.h"

namespace holdfast::software::jit {

// Makes `function` the one that is emitted, whose first arguments are the
// launch and the worker, and begins its entry.
void EnterFunction(EmitContext* context, llvm::Function* function);

// Loads what stays the same for all blocks of a launch, once, at the entry.
void LoadLaunchValues(EmitContext* context);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_LAUNCH_VALUES_H_
