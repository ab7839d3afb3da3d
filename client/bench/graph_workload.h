// SPDX-License-Identifier: Apache-2.0
//
// Times launches of graphs, the same way for Holdfast and for the driver.
#ifndef HOLDFAST_CLIENT_BENCH_GRAPH_WORKLOAD_H_
#define HOLDFAST_CLIENT_BENCH_GRAPH_WORKLOAD_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/bench/summary.h"
#include "client/bench/workload.h"

namespace holdfast::bench {

inline constexpr int kGraphNodes[] = {1, 20, 100, 1000};

inline int Definitions(bool quick) { return quick ? 10 : 50; }

// The number of launches of a graph of this size that takes a reasonable time.
inline int GraphLaunches(int nodes, bool quick) {
  return std::clamp((quick ? 4'000 : 40'000) / nodes, 20, 2'000);
}

// Measures the launch call alone, in microseconds. Launches 16 times per
// sample, and waits for their end outside of the measured time.
template <typename Launch, typename Synchronize>
absl::StatusOr<Summary> CallTime(bool quick, Launch launch,
                                 Synchronize synchronize) {
  constexpr int kCalls = 16;
  Samples samples(/*warm_up=*/2, quick ? 20 : 100);
  while (samples.Wanted()) {
    const Stopwatch watch;
    for (int call = 0; call < kCalls; ++call) {
      if (absl::Status status = launch(); !status.ok()) return status;
    }
    samples.Add(watch.Microseconds() / kCalls);
    if (absl::Status status = synchronize(); !status.ok()) return status;
  }
  return Summary::Of(samples.Take(), Better::kLess);
}

// Measures a launch and the wait for its end, in microseconds.
template <typename Launch, typename Synchronize>
absl::StatusOr<Summary> ThroughTime(int nodes, bool quick, Launch launch,
                                    Synchronize synchronize) {
  return TimeEach(10, GraphLaunches(nodes, quick), [&]() -> absl::Status {
    if (absl::Status status = launch(); !status.ok()) return status;
    return synchronize();
  });
}

// Measures back-to-back launches, per second.
template <typename Launch, typename Synchronize>
absl::StatusOr<Summary> GraphRate(int nodes, bool quick, Launch launch,
                                  Synchronize synchronize) {
  // A round cannot be cut short, so the time of one launch determines the
  // number of launches.
  const Stopwatch one;
  if (absl::Status status = launch(); !status.ok()) return status;
  if (absl::Status status = synchronize(); !status.ok()) return status;
  const double affordable = Samples::kPatience / one.Seconds();
  const int count = std::max(1, static_cast<int>(std::min<double>(
                                    GraphLaunches(nodes, quick), affordable)));
  return RateOf(kRounds, count, [&]() -> absl::Status {
    for (int i = 0; i < count; ++i) {
      if (absl::Status status = launch(); !status.ok()) return status;
    }
    return synchronize();
  });
}

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_GRAPH_WORKLOAD_H_
