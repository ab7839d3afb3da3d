// SPDX-License-Identifier: Apache-2.0
//
// Runs the blocks of one launch over the worker threads.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_GRID_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_GRID_H_

#include "core/software/runtime/abi.h"
#include "core/software/runtime/executable.h"

namespace holdfast::software {

// Returns when every block has run, or the first fault or cancellation has
// stopped the rest. `name` is the kernel's, for messages.
LaunchOutcome RunGrid(KernelFunction* function, absl::string_view name,
                      const LaunchGeometry& geometry, const void* parameters,
                      const std::atomic<bool>* cancel);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_GRID_H_
