// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RECOVERY_FAULT_EXIT_H_
#define HOLDFAST_SERVER_EXECUTOR_RECOVERY_FAULT_EXIT_H_

#include "holdfast/internal/executor.pb.h"
#include "server/executor/link/supervisor_link.h"
#include "server/executor/output/kernel_output.h"

namespace holdfast::executor {

// Makes the first sticky error of the driver (cuda::IsSticky) end the process,
// because the process cannot use the driver any more. The failed call then
// sends the output of kernels, reports the error to the supervisor, and never
// returns. REQUIRES: called once; `link` and `output` live as long as the
// process.
void ExitOnFault(SupervisorLink& link, KernelOutput& output);

// Ends the process in the same way for a fault that is not a driver error. Only
// the first fault is reported. REQUIRES: ExitOnFault was called. Thread-safe.
[[noreturn]] void ExitWith(internal::Fault fault);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_FAULT_EXIT_H_
