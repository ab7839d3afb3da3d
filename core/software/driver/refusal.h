// SPDX-License-Identifier: Apache-2.0
//
// The reason why a call was refused, if the error code does not tell it. An
// entry point refuses by
//
//   return Refuse(CUDA_ERROR_INVALID_VALUE, "kernel k requires ...");
//
// and the program that loaded the driver reads the text on the same thread,
// before its next call.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_REFUSAL_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_REFUSAL_H_

#include <string>

#include "cuda.h"

namespace holdfast::software {

// Stores the reason for the calling thread. Returns `result`.
CUresult Refuse(CUresult result, std::string reason);

// Does the same as Refuse, for a module or a kernel of the program. Also prints
// the reason (core/cuda/refused_code.h), unless the program itself reports the
// driver's messages.
CUresult RefuseCode(CUresult result, std::string reason);

// Drops the reason of an earlier call. Each call of the driver begins with
// ForgetRefusal.
void ForgetRefusal();

// Returns the reason of the thread's last call, or null. Valid until the
// thread's next call.
const char* LastRefusal();

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_REFUSAL_H_
