// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_REFUSAL_H_
#define HOLDFAST_CORE_CUDA_REFUSAL_H_

namespace holdfast::cuda {

// Some drivers can say why they refused a call: `describe` returns that text,
// or null, for the last call of the calling thread. It ends up in what ToStatus
// (result.h) makes of errors that are not sticky. Set once, before the driver
// is used.
void SetRefusalDescription(const char* (*describe)());

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_REFUSAL_H_
