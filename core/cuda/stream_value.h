// SPDX-License-Identifier: Apache-2.0
//
// Writes of a value in memory by streams, and waits for a value: how the
// streams of several processes wait for each other without the host.
#ifndef HOLDFAST_CORE_CUDA_STREAM_VALUE_H_
#define HOLDFAST_CORE_CUDA_STREAM_VALUE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/cuda/stream.h"
#include "cuda.h"

namespace holdfast::cuda {

// cuStreamWriteValue64: writes after all earlier work of the stream is done and
// visible. `address` is a multiple of 8.
absl::Status WriteValueAsync(const Stream& stream, CUdeviceptr address,
                             uint64_t value);

// cuStreamWaitValue64: later work of the stream waits until the value is at
// least `value`. The comparison wraps: the difference, as a signed number, is
// not negative, so 2^64 - 1 comes before 0.
absl::Status WaitValueAsync(const Stream& stream, CUdeviceptr address,
                            uint64_t value);

// cuStreamBatchMemOp: writes and waits, in this order. Unused bytes of the
// operations are 0. UNIMPLEMENTED: the driver or the device has none of them.
absl::Status BatchValuesAsync(
    const Stream& stream,
    absl::Span<const CUstreamBatchMemOpParams> operations);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_STREAM_VALUE_H_
