// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_REFUSAL_H_
#define HOLDFAST_CORE_CUDA_REFUSAL_H_

namespace holdfast::cuda {

// Sets a function that returns the reason why the driver refused the last call
// of the calling thread, or null. Only the software driver has such a function.
// ToStatus (result.h) adds the reason to errors that are not sticky. REQUIRES:
// called once, before the driver is used.
void SetRefusalDescription(const char* (*describe)());

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_REFUSAL_H_
