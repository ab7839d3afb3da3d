// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_NATIVE_SHARING_H_
#define HOLDFAST_CLIENT_BENCH_NATIVE_SHARING_H_

#include "absl/status/statusor.h"
#include "client/bench/native_figures.h"
#include "core/cuda/driver_loader.h"

namespace holdfast::bench {

// Measures two streams of one process that wait for each other's events. The
// figure is "turn_us", the time of a turn, in microseconds: the second stream
// waits for the first, and then the first waits for the second (TurnTime).
absl::StatusOr<NativeFigures> MeasureNativeSharing(
    bool quick, const cuda::DriverOptions& options);

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_NATIVE_SHARING_H_
