// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/copy.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::cuda {

absl::Status CheckRange(absl::string_view what, uint64_t offset, uint64_t size,
                        uint64_t limit) {
  if (offset <= limit && size <= limit - offset) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(size, " bytes at offset ", offset,
                                            " of ", what, ", which has ", limit,
                                            " bytes"));
}

absl::Status CopyAsync(const Stream& stream, CUdeviceptr destination,
                       CUdeviceptr source, uint64_t size) {
  if (size == 0) return absl::OkStatus();
  ScopedContext current(stream.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      stream.context().api(),
      cuMemcpyAsync(destination, source, size, stream.handle()));
  return absl::OkStatus();
}

absl::Status CopyPeerAsync(const Stream& stream, CUdeviceptr destination,
                           const Context& destination_context,
                           CUdeviceptr source, const Context& source_context,
                           uint64_t size) {
  if (size == 0) return absl::OkStatus();
  const DriverApi& api = stream.context().api();
  HOLDFAST_CUDA_REQUIRE(api, cuMemcpyPeerAsync);
  ScopedContext current(stream.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuMemcpyPeerAsync(destination, destination_context.handle(), source,
                             source_context.handle(), size, stream.handle()));
  return absl::OkStatus();
}

absl::Status CopyAllAsync(const Stream& stream, CopyList& list) {
  const DriverApi& api = stream.context().api();
  if (api.cuMemcpyBatchAsync == nullptr || list.sizes.size() < 2) {
    for (size_t i = 0; i < list.sizes.size(); ++i) {
      HOLDFAST_RETURN_IF_ERROR(CopyAsync(stream, list.destinations[i],
                                         list.sources[i], list.sizes[i]));
    }
    return absl::OkStatus();
  }
  ScopedContext current(stream.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  CUmemcpyAttributes in_stream_order = {};
  in_stream_order.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  size_t from_the_first = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuMemcpyBatchAsync(list.destinations.data(), list.sources.data(),
                              list.sizes.data(), list.sizes.size(),
                              &in_stream_order, &from_the_first,
                              /*numAttrs=*/1, stream.handle()));
  return absl::OkStatus();
}

absl::Status CheckPattern(CUdeviceptr destination, uint32_t pattern,
                          uint32_t pattern_bytes, uint64_t size) {
  if (pattern_bytes != 1 && pattern_bytes != 2 && pattern_bytes != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a fill pattern of ", pattern_bytes, " bytes is none of 1, 2, 4"));
  }
  if (pattern_bytes < 4 && pattern >> (8 * pattern_bytes) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("fill pattern ", pattern, " does not fit into ",
                     pattern_bytes, pattern_bytes == 1 ? " byte" : " bytes"));
  }
  if (size % pattern_bytes != 0 || destination % pattern_bytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a fill with a pattern of ", pattern_bytes,
                     " bytes needs a size and an offset that are multiples of "
                     "it; the size is ",
                     size));
  }
  return absl::OkStatus();
}

absl::Status FillAsync(const Stream& stream, CUdeviceptr destination,
                       uint32_t pattern, uint32_t pattern_bytes,
                       uint64_t size) {
  HOLDFAST_RETURN_IF_ERROR(
      CheckPattern(destination, pattern, pattern_bytes, size));
  if (size == 0) return absl::OkStatus();
  ScopedContext current(stream.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  const DriverApi& api = stream.context().api();
  switch (pattern_bytes) {
    case 1:
      HOLDFAST_CUDA_RETURN_IF_ERROR(
          api, cuMemsetD8Async(destination, static_cast<uint8_t>(pattern), size,
                               stream.handle()));
      break;
    case 2:
      HOLDFAST_CUDA_RETURN_IF_ERROR(
          api, cuMemsetD16Async(destination, static_cast<uint16_t>(pattern),
                                size / 2, stream.handle()));
      break;
    default:
      HOLDFAST_CUDA_RETURN_IF_ERROR(
          api,
          cuMemsetD32Async(destination, pattern, size / 4, stream.handle()));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::cuda
