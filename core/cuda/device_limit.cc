// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/device_limit.h"

#include <cstddef>

#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::cuda {

absl::StatusOr<uint64_t> GetLimit(const Context& context, CUlimit limit) {
  const DriverApi& api = context.api();
  HOLDFAST_CUDA_REQUIRE(api, cuCtxGetLimit);
  ScopedContext current(context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  size_t value = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuCtxGetLimit(&value, limit));
  return value;
}

absl::Status SetLimit(const Context& context, CUlimit limit, uint64_t value) {
  const DriverApi& api = context.api();
  HOLDFAST_CUDA_REQUIRE(api, cuCtxSetLimit);
  ScopedContext current(context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuCtxSetLimit(limit, value));
  return absl::OkStatus();
}

}  // namespace holdfast::cuda
