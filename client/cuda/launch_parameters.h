// SPDX-License-Identifier: Apache-2.0
//
// Converts the driver API's description of a launch, for streams and for nodes
// of graphs.
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

// Copies the buffer of CU_LAUNCH_PARAM_BUFFER_POINTER and ..._SIZE to the block
// of all parameters. Accepts a buffer that ends early, as CUDA's driver does;
// the missing bytes are 0. `extra` may be null. CUDA_ERROR_INVALID_VALUE: the
// kernel has parameters, and there is no buffer.
// CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: the buffer has bytes behind the last
// parameter; the padding at the end of a struct counts as such bytes.
CUresult ReadParameterBuffer(const Function& function, void** extra,
                             std::vector<std::byte>* block);

// Appends one argument for each parameter, from `values` or, if that is null,
// from the bytes of all parameters in `block`. An argument may refer to this
// memory. Returns false if a parameter is missing.
bool ReadArguments(const Function& function, void** values,
                   std::span<const std::byte> block,
                   std::vector<Argument>* arguments);

// Copies the parameters from `values` or, if that is null, from the buffer of
// `extra` into one block, each at its offset. Fails as ReadParameterBuffer
// does, and with CUDA_ERROR_INVALID_VALUE if a pointer in `values` is null.
CUresult CopyParameters(const Function& function, void** values, void** extra,
                        std::vector<std::byte>* block);

// Stores the attribute in `config`. Returns false if it is not supported.
bool ApplyAttribute(const CUlaunchAttribute& attribute, LaunchConfig* config);

// Returns true if the clusters divide the grid in each dimension, as the driver
// requires.
bool HasWholeClusters(const LaunchConfig& config);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_LAUNCH_PARAMETERS_H_
