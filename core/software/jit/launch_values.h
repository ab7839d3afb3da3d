// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_LAUNCH_VALUES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_LAUNCH_VALUES_H_

#include "core/software/jit/emit_context.h"

namespace holdfast::software::jit {

// Begins to emit `function`: makes its entry block, sets the insertion point to
// the block, and sets the function and its first two arguments in *context.
// REQUIRES: these arguments are the LaunchContext* and the WorkerContext*.
void EnterFunction(EmitContext* context, llvm::Function* function);

// Emits loads of the values that are constant during a launch, and sets them in
// *context. REQUIRES: the insertion point is in the entry block.
void LoadLaunchValues(EmitContext* context);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_LAUNCH_VALUES_H_
