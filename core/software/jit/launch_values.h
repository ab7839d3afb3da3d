// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_LAUNCH_VALUES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_LAUNCH_VALUES_H_

#include "core/software/jit/emit_context.h"

namespace holdfast::software::jit {

// Begins to emit `function`: sets it in *context, and sets the insertion point
// to its new entry block. REQUIRES: the first two arguments of `function` are
// the LaunchContext* and the WorkerContext*.
void EnterFunction(EmitContext* context, llvm::Function* function);

// Emits loads of the values that are constant during a launch, and sets them in
// *context. REQUIRES: the insertion point is in the entry block.
void LoadLaunchValues(EmitContext* context);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_LAUNCH_VALUES_H_
