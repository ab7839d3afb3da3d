// SPDX-License-Identifier: Apache-2.0
//
// Streams that wait for a value in memory, and streams that write one: how the
// streams of several processes wait for each other without the host.
#ifndef HOLDFAST_CORE_CUDA_STREAM_VALUE_H_
#define HOLDFAST_CORE_CUDA_STREAM_VALUE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/cuda/stream.h"
#include "cuda.h"

namespace holdfast::cuda {

// cuStreamWriteValue64: writes when all that the stream has been given so far
// is done and can be seen by everybody. `address` is a multiple of 8.
absl::Status WriteValueAsync(const Stream& stream, CUdeviceptr address,
                             uint64_t value);

// cuStreamWaitValue64: what the stream is given from now on waits until the
// value is at least `value`, in the order in which 2^64 - 1 comes before 0:
// the difference, as a signed number, is not negative.
absl::Status WaitValueAsync(const Stream& stream, CUdeviceptr address,
                            uint64_t value);

// cuStreamBatchMemOp: writes and waits, in this order. Unused bytes of the
// operations are 0. UNIMPLEMENTED: the driver or the device has none of them.
absl::Status BatchValuesAsync(
    const Stream& stream,
    absl::Span<const CUstreamBatchMemOpParams> operations);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_STREAM_VALUE_H_
