// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_REFUSED_CALL_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_REFUSED_CALL_H_

namespace holdfast::software {

// Traces a call of an unsupported function, and stores the reason (refusal.h).
// Returns CUDA_ERROR_NOT_SUPPORTED, as a number.
int RefuseCall(const char* function);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_REFUSED_CALL_H_
