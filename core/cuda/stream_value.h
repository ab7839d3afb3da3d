// SPDX-License-Identifier: Apache-2.0
//
// Enqueues writes of values to memory, and waits for values in memory. With
// them, streams of several processes wait for each other without the host. All
// functions return UNIMPLEMENTED if the driver lacks the function.
#ifndef HOLDFAST_CORE_CUDA_STREAM_VALUE_H_
#define HOLDFAST_CORE_CUDA_STREAM_VALUE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/cuda/stream.h"
#include "cuda.h"

namespace holdfast::cuda {

// Enqueues a write of 64 bits: cuStreamWriteValue64. The write happens after
// all earlier work of the stream is done and visible. `address` is a multiple
// of 8.
absl::Status WriteValueAsync(const Stream& stream, CUdeviceptr address,
                             uint64_t value);

// Makes later work of the stream wait until the 64 bits at `address` are at
// least `value`: cuStreamWaitValue64. The comparison wraps: a number is at
// least `value` if the difference, as a signed number, is not negative. So 0 is
// at least 2^64 - 1.
absl::Status WaitValueAsync(const Stream& stream, CUdeviceptr address,
                            uint64_t value);

// Enqueues the writes and waits of `operations`, in their order:
// cuStreamBatchMemOp. REQUIRES: unused bytes of the operations are 0.
// UNIMPLEMENTED also: the device does not support these operations.
absl::Status BatchValuesAsync(
    const Stream& stream,
    absl::Span<const CUstreamBatchMemOpParams> operations);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_STREAM_VALUE_H_
