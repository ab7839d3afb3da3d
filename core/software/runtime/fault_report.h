// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_FAULT_REPORT_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_FAULT_REPORT_H_

#include <string>

#include "core/software/jit/compiler.h"
#include "core/software/lower/kernel.h"
#include "core/software/runtime/abi.h"
#include "core/software/runtime/executable.h"
#include "core/software/runtime/kernel_fault.h"

namespace holdfast::software {

// Where a kernel faulted, and why. `worker` was running it; `waiting` names the
// warps of a deadlock.
// Of each block: the kernel's own, and what the launch adds.
inline uint64_t SharedBytes(const lower::Kernel& kernel,
                            const LaunchGeometry& geometry) {
  return geometry.dynamic_shared_bytes == 0
             ? kernel.static_shared_bytes
             : kernel.dynamic_shared_begin + geometry.dynamic_shared_bytes;
}

struct FaultReport {
  const lower::Kernel& kernel;
  const jit::CompiledKernel& code;
  const LaunchGeometry& geometry;
  const WorkerContext& worker;
  const KernelFault& fault;
  std::string waiting;

  // The message has kernel, block, thread, the line of the PTX and, if it was
  // compiled with line information, that of the source. Where the thread is not
  // known, it names the threads of the warp.
  LaunchOutcome Describe() const;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_FAULT_REPORT_H_
