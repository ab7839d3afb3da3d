// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_NATIVE_GRAPH_H_
#define HOLDFAST_CLIENT_BENCH_NATIVE_GRAPH_H_

#include "absl/status/statusor.h"
#include "client/bench/native_figures.h"
#include "core/cuda/driver_loader.h"

namespace holdfast::bench {

// The driver's own graphs: chains of empty kernels. "call_us/100",
// "through_us/100", "rate/100" by the number of nodes; "define_us/1000",
// and its halves "graph_us/1000" and "instantiate_us/1000"; "update_us/100";
// "singles_us/100": the same kernels launched one by one.
absl::StatusOr<NativeFigures> MeasureNativeGraphs(
    bool quick, const cuda::DriverOptions& options);

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_NATIVE_GRAPH_H_
