// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_GRID_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_GRID_H_

#include <atomic>

#include "core/software/jit/compiler.h"
#include "core/software/lower/kernel.h"
#include "core/software/runtime/executable.h"

namespace holdfast::software {

// A kernel to run. The pointers are borrowed until RunGrid returns.
struct GridKernel {
  const lower::Kernel* lowered = nullptr;
  const jit::CompiledKernel* code = nullptr;  // the code of `lowered`
};

// Runs the generated code of a kernel for all blocks of a grid, and blocks
// until all are done. The calling thread and, if there is enough work, the
// worker threads take the blocks in chunks. All blocks of a cooperative launch
// run concurrently. If blocks of another launch may wait for each other, each
// thread runs as many of them concurrently as fit a multiprocessor of a GPU.
// The first fault ends the launch. If *cancel becomes true, the launch ends
// early with CUDA_ERROR_LAUNCH_TIMEOUT. `cancel` may be null. Thread-safe.
LaunchOutcome RunGrid(const GridKernel& kernel, const LaunchGeometry& geometry,
                      const void* parameters, const std::atomic<bool>* cancel);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_GRID_H_
