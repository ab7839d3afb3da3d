// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/stream_value.h"

#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::cuda {

absl::Status WriteValueAsync(const Stream& stream, CUdeviceptr address,
                             uint64_t value) {
  const DriverApi& api = stream.context().api();
  HOLDFAST_CUDA_REQUIRE(api, cuStreamWriteValue64);
  ScopedContext current(stream.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuStreamWriteValue64(stream.handle(), address, value,
                                CU_STREAM_WRITE_VALUE_DEFAULT));
  return absl::OkStatus();
}

absl::Status WaitValueAsync(const Stream& stream, CUdeviceptr address,
                            uint64_t value) {
  const DriverApi& api = stream.context().api();
  HOLDFAST_CUDA_REQUIRE(api, cuStreamWaitValue64);
  ScopedContext current(stream.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuStreamWaitValue64(stream.handle(), address, value,
                               CU_STREAM_WAIT_VALUE_GEQ));
  return absl::OkStatus();
}

absl::Status BatchValuesAsync(
    const Stream& stream,
    absl::Span<const CUstreamBatchMemOpParams> operations) {
  const DriverApi& api = stream.context().api();
  HOLDFAST_CUDA_REQUIRE(api, cuStreamBatchMemOp);
  ScopedContext current(stream.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  // The driver does not write to them.
  auto* const array = const_cast<CUstreamBatchMemOpParams*>(operations.data());
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuStreamBatchMemOp(stream.handle(),
                              static_cast<unsigned>(operations.size()), array,
                              /*flags=*/0));
  return absl::OkStatus();
}

}  // namespace holdfast::cuda
