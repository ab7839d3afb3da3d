// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_GRID_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_GRID_H_

#include <atomic>

#include "core/software/jit/compiler.h"
#include "core/software/lower/kernel.h"
#include "core/software/runtime/executable.h"

namespace holdfast::software {

struct GridKernel {
  const lower::Kernel* lowered = nullptr;
  const jit::CompiledKernel* code = nullptr;  // made from it
};

// Runs the generated code of a kernel over a grid, and blocks until it is done.
// The calling thread and, if there is enough work, the worker threads take the
// blocks in chunks. All blocks of a cooperative launch run concurrently; of a
// plain launch whose blocks may wait for each other, each thread runs as many
// side by side as a multiprocessor of a GPU holds. The
// first fault ends the launch. `cancel` may be null.
LaunchOutcome RunGrid(const GridKernel& kernel, const LaunchGeometry& geometry,
                      const void* parameters, const std::atomic<bool>* cancel);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_GRID_H_
