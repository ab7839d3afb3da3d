// SPDX-License-Identifier: Apache-2.0
//
// Why a call was refused, where the error's code does not say it. An entry
// point refuses by
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

// Keeps the reason for the calling thread. Returns `result`.
CUresult Refuse(CUresult result, std::string reason);

// Drops the reason of an earlier call: how each call begins.
void ForgetRefusal();

// The reason of the thread's last call; null if it has none. Valid until the
// thread's next call.
const char* LastRefusal();

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_REFUSAL_H_
