// SPDX-License-Identifier: Apache-2.0
//
// The reason why a call was refused, as a text beside the error code. The
// driver refuses a call with a reason as follows:
//
//   return Refuse(CUDA_ERROR_INVALID_VALUE, "kernel k requires ...");
//
// The program that loaded the driver reads the text on the same thread, before
// the thread's next call of the driver. Each thread has a reason of its own.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_REFUSAL_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_REFUSAL_H_

#include <string>

#include "cuda.h"

namespace holdfast::software {

// Stores the reason for the calling thread. Returns `result`.
CUresult Refuse(CUresult result, std::string reason);

// Does the same as Refuse, for a module or a kernel of the program. Also prints
// the reason (core/cuda/refused_code.h), unless LeaveFaultsToProgram (fault.h)
// was called.
CUresult RefuseCode(CUresult result, std::string reason);

// Drops the reason of the calling thread. Each call of the driver begins with
// ForgetRefusal.
void ForgetRefusal();

// Returns the reason of the calling thread's last call; null if there is none.
// The text is valid until the thread's next call of the driver.
const char* LastRefusal();

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_REFUSAL_H_
