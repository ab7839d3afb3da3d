// SPDX-License-Identifier: Apache-2.0
//
// The names by which the protocol calls the driver's attributes.
#ifndef HOLDFAST_CLIENT_CUDA_NAMES_H_
#define HOLDFAST_CLIENT_CUDA_NAMES_H_

#include <string>

#include "cuda.h"

namespace holdfast::libcuda {

// Returns the attribute's key in v1::Device.attributes, such as
// "max_threads_per_block". Returns "" for a number that CUDA 13 does not
// define.
std::string NameOf(CUdevice_attribute attribute);
// Returns the attribute's key in v1::KernelDescription.attributes; "" as above.
std::string NameOf(CUfunction_attribute attribute);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_NAMES_H_
