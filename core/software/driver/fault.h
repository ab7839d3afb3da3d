// SPDX-License-Identifier: Apache-2.0
//
// The sticky error of the process. As on a GPU, the first kernel that faults
// ends all work: queued work is skipped, and every later call that needs a
// context returns the fault's code, until the process ends.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_FAULT_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_FAULT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "cuda.h"

namespace holdfast::software {

// Records the process's first fault and prints it; later ones are dropped.
void ReportFault(CUresult result, absl::string_view message);

// Makes ReportFault() record later faults without printing them, because the
// program reports them itself. The driver then explains no refusal either.
void LeaveFaultsToProgram();
bool AreFaultsLeftToProgram();

// Returns the first fault's code; CUDA_SUCCESS while nothing has faulted.
CUresult LastFault();

// Returns the message of the first fault, which names kernel, block, thread and
// PTX line; null if nothing has faulted. Valid as long as the process.
const char* LastFaultMessage();

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_FAULT_H_
