// SPDX-License-Identifier: Apache-2.0
//
// The names by which the protocol calls the driver's attributes.
#ifndef HOLDFAST_CLIENT_CUDA_NAMES_H_
#define HOLDFAST_CLIENT_CUDA_NAMES_H_

#include <string>

#include "cuda.h"

namespace holdfast::libcuda {

// "max_threads_per_block"; empty: no attribute of CUDA 13. As the keys of
// v1::Device.attributes.
std::string NameOf(CUdevice_attribute attribute);
// The same for v1::KernelDescription.attributes.
std::string NameOf(CUfunction_attribute attribute);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_NAMES_H_
