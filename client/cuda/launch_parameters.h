// SPDX-License-Identifier: Apache-2.0
//
// The driver's way to describe a launch, for streams and for nodes of graphs.
#ifndef HOLDFAST_CLIENT_CUDA_LAUNCH_PARAMETERS_H_
#define HOLDFAST_CLIENT_CUDA_LAUNCH_PARAMETERS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "client/cpp/argument.h"
#include "client/cpp/launch.h"
#include "client/cuda/module.h"
#include "cuda.h"

namespace holdfast::libcuda {

// The buffer of CU_LAUNCH_PARAM_BUFFER_POINTER and ..._SIZE; null data: there
// is none.
std::span<const std::byte> ParameterBuffer(void** extra);

// Appends one argument for each parameter, from `values` or, if that is null,
// from the bytes of all parameters in `block`. Arguments refer to that memory.
// False: parameters are missing.
bool ReadArguments(const Function& function, void** values,
                   std::span<const std::byte> block,
                   std::vector<Argument>* arguments);

// Copies the parameters into one block, each at its offset. False: parameters
// are missing.
bool CopyParameters(const Function& function, void** values, void** extra,
                    std::vector<std::byte>* block);

// False: the attribute is not served.
bool ApplyAttribute(const CUlaunchAttribute& attribute, LaunchConfig* config);

// As the driver checks it: clusters of whole blocks in each dimension.
bool HasWholeClusters(const LaunchConfig& config);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_LAUNCH_PARAMETERS_H_
