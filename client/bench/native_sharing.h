// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_NATIVE_SHARING_H_
#define HOLDFAST_CLIENT_BENCH_NATIVE_SHARING_H_

#include "absl/status/statusor.h"
#include "client/bench/native_figures.h"
#include "core/cuda/driver_loader.h"

namespace holdfast::bench {

// Two streams of one process that order each other by events, the driver's own
// means within a process: "turn_us".
absl::StatusOr<NativeFigures> MeasureNativeSharing(
    bool quick, const cuda::DriverOptions& options);

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_NATIVE_SHARING_H_
