// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_DEVICE_LIMIT_H_
#define HOLDFAST_CORE_CUDA_DEVICE_LIMIT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cuda/context.h"
#include "cuda.h"

namespace holdfast::cuda {

// Return or set a limit of a context: cuCtxGetLimit and cuCtxSetLimit. Limits
// are for instance the bytes of each thread's stack, of the buffer of printf,
// and of the heap of malloc in kernels. Fail as the driver does. UNIMPLEMENTED:
// the driver lacks the function.
absl::StatusOr<uint64_t> GetLimit(const Context& context, CUlimit limit);
absl::Status SetLimit(const Context& context, CUlimit limit, uint64_t value);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_DEVICE_LIMIT_H_
