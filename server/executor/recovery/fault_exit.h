// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RECOVERY_FAULT_EXIT_H_
#define HOLDFAST_SERVER_EXECUTOR_RECOVERY_FAULT_EXIT_H_

#include "holdfast/internal/executor.pb.h"
#include "server/executor/link/supervisor_link.h"
#include "server/executor/output/kernel_output.h"

namespace holdfast::executor {

// From now on the first error after which the driver is of no more use to this
// process (cuda::IsSticky) ends the process: what kernels have printed is sent,
// the supervisor is told of the error, and no thread comes to use its result.
// Once in a process; both must live as long as it does.
void ExitOnFault(SupervisorLink& link, KernelOutput& output);

// Ends the process likewise, for a fault that is no error of the driver's.
// REQUIRES: ExitOnFault was called. Thread-safe; the first fault counts.
[[noreturn]] void ExitWith(internal::Fault fault);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_FAULT_EXIT_H_
