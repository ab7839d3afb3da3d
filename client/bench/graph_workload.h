// SPDX-License-Identifier: Apache-2.0
//
// How launches of graphs are timed: the same for Holdfast and for the driver.
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

// Launches of a graph of so many nodes that take a reasonable time.
inline int GraphLaunches(int nodes, bool quick) {
  return std::clamp((quick ? 4'000 : 40'000) / nodes, 20, 2'000);
}

// Microseconds of the call alone: 16 launches, whose end is waited for outside
// the time that counts.
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

// Microseconds of a launch and of waiting for its end.
template <typename Launch, typename Synchronize>
absl::StatusOr<Summary> ThroughTime(int nodes, bool quick, Launch launch,
                                    Synchronize synchronize) {
  return TimeEach(10, GraphLaunches(nodes, quick), [&]() -> absl::Status {
    if (absl::Status status = launch(); !status.ok()) return status;
    return synchronize();
  });
}

// Launches a second, one behind the other.
template <typename Launch, typename Synchronize>
absl::StatusOr<Summary> GraphRate(int nodes, bool quick, Launch launch,
                                  Synchronize synchronize) {
  // A round is not cut short: one launch says how many it can afford.
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
