// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills in stream order. Addresses are unified addresses of device
// memory or page-locked host memory. REQUIRES: ranges were checked with
// CheckRange, and no memory is pageable.
#ifndef HOLDFAST_CORE_CUDA_COPY_H_
#define HOLDFAST_CORE_CUDA_COPY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/cuda/context.h"
#include "core/cuda/stream.h"
#include "cuda.h"

namespace holdfast::cuda {

// OUT_OF_RANGE: [offset, offset + size) is not within `limit` bytes. The check
// does not overflow. `what` names the object in the message: "buffer
// 0x3000...".
absl::Status CheckRange(absl::string_view what, uint64_t offset, uint64_t size,
                        uint64_t limit);

// cuMemcpyAsync. The ranges must not overlap. A size of 0 does nothing.
absl::Status CopyAsync(const Stream& stream, CUdeviceptr destination,
                       CUdeviceptr source, uint64_t size);

// cuMemcpyPeerAsync: the same, between memory of two contexts. UNIMPLEMENTED:
// the driver has no cuMemcpyPeerAsync.
absl::Status CopyPeerAsync(const Stream& stream, CUdeviceptr destination,
                           const Context& destination_context,
                           CUdeviceptr source, const Context& source_context,
                           uint64_t size);

// A list of copies for CopyAllAsync. The ranges of all copies must not overlap,
// because the copies may run in any order.
class CopyList {
 public:
  // REQUIRES: `size` is not 0.
  void Add(CUdeviceptr destination, CUdeviceptr source, uint64_t size) {
    destinations.push_back(destination);
    sources.push_back(source);
    sizes.push_back(size);
  }

  // Equal lengths; entry i belongs to copy i. Sizes are in bytes.
  std::vector<CUdeviceptr> destinations;
  std::vector<CUdeviceptr> sources;
  std::vector<size_t> sizes;
};

// Enqueues all copies, in any order: by cuMemcpyBatchAsync, or one by one if
// the driver lacks it. `list` is not changed; it is mutable for the driver's
// signature.
absl::Status CopyAllAsync(const Stream& stream, CopyList& list);

// Makes the checks of FillAsync. Needs no device, so that a command can be
// refused before it is enqueued.
absl::Status CheckPattern(CUdeviceptr destination, uint32_t pattern,
                          uint32_t pattern_bytes, uint64_t size);

// cuMemsetD8Async, D16, D32: `size` bytes of a pattern of `pattern_bytes` (1,
// 2 or 4) low bytes of `pattern`. INVALID_ARGUMENT: another width; a pattern
// that does not fit into it; `size` or the address not a multiple of it.
absl::Status FillAsync(const Stream& stream, CUdeviceptr destination,
                       uint32_t pattern, uint32_t pattern_bytes, uint64_t size);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_COPY_H_
