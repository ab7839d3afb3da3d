// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_GRID_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_GRID_H_

#include <atomic>
#include <string>

#include "absl/strings/string_view.h"
#include "core/software/runtime/abi.h"
#include "core/software/runtime/executable.h"

namespace holdfast::software {

struct GridKernel {
  absl::string_view name;
  KernelFunction* function = nullptr;
  // The warps of a block wait for each other (lower::Kernel).
  bool concurrent_warps = false;
  size_t local_bytes = 0;  // of each thread
};

// Runs the generated code of a kernel over a grid: blocks are handed out in
// chunks to the calling thread and, if there is enough to do, to the worker
// threads; those of a cooperative launch all run side by side. The first fault
// ends the launch. `cancel` may be null.
LaunchOutcome RunGrid(const GridKernel& kernel, const LaunchGeometry& geometry,
                      const void* parameters, const std::atomic<bool>* cancel);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_GRID_H_
