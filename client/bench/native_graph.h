// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_NATIVE_GRAPH_H_
#define HOLDFAST_CLIENT_BENCH_NATIVE_GRAPH_H_

#include "absl/status/statusor.h"
#include "client/bench/native_figures.h"
#include "core/cuda/driver_loader.h"

namespace holdfast::bench {

// Measures the driver's own graphs, which are chains of empty kernels. Returns
// these figures, named by the number of nodes (graph_workload.h):
//
//   call_us/N, through_us/N, rate/N     launches, for each N of kGraphNodes
//   define_us/1000                      definition and instantiation
//   graph_us/1000                       definition alone
//   instantiate_us/1000                 instantiation alone
//   update_us/100                       an update of every node
//   singles_us/100                      the same kernels, launched one by one
//
// UNIMPLEMENTED: the driver lacks a function.
absl::StatusOr<NativeFigures> MeasureNativeGraphs(
    bool quick, const cuda::DriverOptions& options);

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_NATIVE_GRAPH_H_
