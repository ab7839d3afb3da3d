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

// Records the process's first fault, and prints its name and `message` on
// standard error. Drops later faults. `result` is not CUDA_SUCCESS.
// Thread-safe, as are all functions below.
void ReportFault(CUresult result, absl::string_view message);

// Makes ReportFault record later faults without printing them, because the
// program prints the driver's messages itself. RefuseCode (refusal.h) then does
// not print the reasons of refusals, either.
void LeaveFaultsToProgram();

// Returns true after LeaveFaultsToProgram.
bool AreFaultsLeftToProgram();

// Returns the first fault's code; CUDA_SUCCESS if there was no fault.
CUresult LastFault();

// Returns the message of the first fault, which names kernel, block, thread and
// PTX line; null if there was no fault. Valid until the process ends.
const char* LastFaultMessage();

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_FAULT_H_
