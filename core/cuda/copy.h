// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills in stream order. The functions whose names end with "Async"
// enqueue the work and return; later calls report errors of the work. Addresses
// are unified addresses of device memory or page-locked host memory. REQUIRES:
// the ranges were checked with CheckRange, and no memory is pageable.
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

// Checks that [offset, offset + size) lies within `limit` bytes; the check does
// not overflow. OUT_OF_RANGE: it does not. `what` names the object in the
// message: "buffer 0x3000...".
absl::Status CheckRange(absl::string_view what, uint64_t offset, uint64_t size,
                        uint64_t limit);

// Copies `size` bytes: cuMemcpyAsync. The ranges must not overlap. Does nothing
// if `size` is 0.
absl::Status CopyAsync(const Stream& stream, CUdeviceptr destination,
                       CUdeviceptr source, uint64_t size);

// Copies between memory of two contexts: cuMemcpyPeerAsync. Otherwise does the
// same as CopyAsync. UNIMPLEMENTED: the driver has no cuMemcpyPeerAsync.
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
// refused before it is enqueued. INVALID_ARGUMENT: `pattern_bytes` is not 1, 2
// or 4; `pattern` does not fit into `pattern_bytes`; or `size` or `destination`
// is not a multiple of `pattern_bytes`.
absl::Status CheckPattern(CUdeviceptr destination, uint32_t pattern,
                          uint32_t pattern_bytes, uint64_t size);

// Fills `size` bytes with copies of the `pattern_bytes` low bytes of `pattern`:
// cuMemsetD8Async, D16, D32. Fails as CheckPattern does. Does nothing if `size`
// is 0.
absl::Status FillAsync(const Stream& stream, CUdeviceptr destination,
                       uint32_t pattern, uint32_t pattern_bytes, uint64_t size);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_COPY_H_
