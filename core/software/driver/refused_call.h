// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_REFUSED_CALL_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_REFUSED_CALL_H_

namespace holdfast::software {

// Refuses a call of the unsupported function named `function`: prints the call
// if the settings trace calls, and stores the reason (refusal.h). Returns
// CUDA_ERROR_NOT_SUPPORTED, as a number.
int RefuseCall(const char* function);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_REFUSED_CALL_H_
