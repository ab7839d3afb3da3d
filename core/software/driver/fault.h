// SPDX-License-Identifier: Apache-2.0
//
// The sticky error of the process. As on a GPU, the first kernel that faults
// ends all work: what is queued is skipped and every later call that needs a
// context returns the fault's code, until the process ends.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_FAULT_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_FAULT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "cuda.h"

namespace holdfast::software {

// Records the process's first fault and prints it; later ones are dropped.
void ReportFault(CUresult result, absl::string_view message);

// From now on faults are recorded and not printed: the program tells them.
void LeaveFaultsToProgram();

// CUDA_SUCCESS while nothing has faulted.
CUresult LastFault();

// Kernel, block, thread and PTX line of the fault; null without one. Lives as
// long as the process.
const char* LastFaultMessage();

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_FAULT_H_
