// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_FAULT_REPORT_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_FAULT_REPORT_H_

#include <string>

#include "core/software/abi/abi.h"
#include "core/software/jit/compiler.h"
#include "core/software/lower/kernel.h"
#include "core/software/runtime/executable.h"
#include "core/software/runtime/kernel_fault.h"

namespace holdfast::software {

// Returns the bytes of shared memory of each block: the static part of the
// kernel and the dynamic part of the launch. Reserved shared memory lies after
// them and is not included.
inline uint64_t SharedBytes(const lower::Kernel& kernel,
                            const LaunchGeometry& geometry) {
  return geometry.dynamic_shared_bytes == 0
             ? kernel.static_shared_bytes
             : kernel.dynamic_shared_begin + geometry.dynamic_shared_bytes;
}

// The data for the report of a fault. All references must outlive the object.
struct FaultReport {
  const lower::Kernel& kernel;
  const jit::CompiledKernel& code;
  const LaunchGeometry& geometry;
  const WorkerContext& worker;
  const KernelFault& fault;
  std::string waiting;

  // Returns the error of the fault and a message. The message names the kernel,
  // the block, the thread, the PTX line and, if the kernel was compiled with
  // line information, the source line. If the thread is unknown, the message
  // names the threads of the warp. `worker` ran the kernel. `waiting` names the
  // warps of a deadlock.
  LaunchOutcome Describe() const;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_FAULT_REPORT_H_
