// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_REFUSAL_H_
#define HOLDFAST_CORE_CUDA_REFUSAL_H_

namespace holdfast::cuda {

// Sets a function that describes a driver's refusals, for drivers that can:
// `describe` returns the reason, or null, for the last call of the calling
// thread. ToStatus (result.h) adds it to errors that are not sticky. Called
// once, before the driver is used.
void SetRefusalDescription(const char* (*describe)());

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_REFUSAL_H_
