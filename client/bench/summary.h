// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_SUMMARY_H_
#define HOLDFAST_CLIENT_BENCH_SUMMARY_H_

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace holdfast::bench {

enum class Better { kLess, kMore };

// The summary of a row of samples, in the samples' unit.
struct Summary {
  double p50 = 0;
  // The worse end: of times the 99th percentile, of rates the first.
  double p99 = 0;
  // 10th and 90th percentile: between them lies the spread.
  double p10 = 0;
  double p90 = 0;
  size_t count = 0;

  // (p90 - p10) / p50
  double spread() const { return p50 > 0 ? (p90 - p10) / p50 : 0; }

  // REQUIRES: not empty.
  static Summary Of(std::vector<double> samples, Better better);
};

// Time since it was made, by the steady clock.
class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }
  double Milliseconds() const { return 1e3 * Seconds(); }
  double Microseconds() const { return 1e6 * Seconds(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// Calls `action`, which returns a Status, `warm_up` + `count` times; summarises
// the microseconds that the last `count` took, each.
template <typename Action>
absl::StatusOr<Summary> TimeEach(int warm_up, int count, Action action) {
  std::vector<double> samples;
  samples.reserve(static_cast<size_t>(count));
  for (int i = -warm_up; i < count; ++i) {
    const Stopwatch watch;
    if (absl::Status status = action(); !status.ok()) return status;
    if (i >= 0) samples.push_back(watch.Microseconds());
  }
  return Summary::Of(std::move(samples), Better::kLess);
}

// Calls `action`, which returns a Status, once to warm up and then `rounds`
// times; returns the seconds of each round.
template <typename Action>
absl::StatusOr<std::vector<double>> TimeRounds(int rounds, Action action) {
  std::vector<double> samples;
  for (int i = -1; i < rounds; ++i) {
    const Stopwatch watch;
    if (absl::Status status = action(); !status.ok()) return status;
    if (i >= 0) samples.push_back(watch.Seconds());
  }
  return samples;
}

// Measures rounds that do `work` units each: units a second.
template <typename Action>
absl::StatusOr<Summary> RateOf(int rounds, double work, Action action) {
  auto samples = TimeRounds(rounds, action);
  if (!samples.ok()) return samples.status();
  for (double& sample : *samples) sample = work / sample;
  return Summary::Of(*std::move(samples), Better::kMore);
}

// Measures rounds that do `work` units each: microseconds a unit.
template <typename Action>
absl::StatusOr<Summary> TimePerUnit(int rounds, double work, Action action) {
  auto samples = TimeRounds(rounds, action);
  if (!samples.ok()) return samples.status();
  for (double& sample : *samples) sample *= 1e6 / work;
  return Summary::Of(*std::move(samples), Better::kLess);
}

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_SUMMARY_H_
