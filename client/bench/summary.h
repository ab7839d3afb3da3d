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
  // The worse end of the samples: the 99th percentile of times, the first
  // percentile of rates.
  double p99 = 0;
  // 10th and 90th percentiles, which bound the spread.
  double p10 = 0;
  double p90 = 0;
  size_t count = 0;

  // (p90 - p10) / p50
  double spread() const { return p50 > 0 ? (p90 - p10) / p50 : 0; }

  // Returns the summary of `samples`. REQUIRES: there are samples.
  static Summary Of(std::vector<double> samples, Better better);
};

// Measures the time since its construction, by the steady clock.
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

// Collects the samples of one measurement: `warm_up` that are dropped, then
// `count` that are kept, or fewer if they take longer than `patience`. The
// counts suit an idle machine; the time limit suits any other.
class Samples {
 public:
  static constexpr double kPatience = 5;  // seconds

  Samples(int warm_up, int count, double patience = kPatience)
      : left_(count), warm_up_(warm_up), patience_(patience) {}

  // Returns true if another sample is needed.
  bool Wanted() const {
    return left_ > 0 && (values_.empty() || watch_.Seconds() < patience_);
  }
  void Add(double value) {
    if (warm_up_ > 0 && watch_.Seconds() < patience_) {
      --warm_up_;
      return;
    }
    values_.push_back(value);
    --left_;
  }
  std::vector<double> Take() { return std::move(values_); }

 private:
  int left_;
  int warm_up_;
  const double patience_;  // seconds
  const Stopwatch watch_;
  std::vector<double> values_;
};

// Calls `action`, which returns a Status, `warm_up` + `count` times. Summarises
// the time of each of the last `count` calls, in microseconds.
template <typename Action>
absl::StatusOr<Summary> TimeEach(int warm_up, int count, Action action) {
  Samples samples(warm_up, count);
  while (samples.Wanted()) {
    const Stopwatch watch;
    if (absl::Status status = action(); !status.ok()) return status;
    samples.Add(watch.Microseconds());
  }
  return Summary::Of(samples.Take(), Better::kLess);
}

// Calls `action`, which returns a Status, once to warm up and then `rounds`
// times; returns the seconds of each round.
template <typename Action>
absl::StatusOr<std::vector<double>> TimeRounds(int rounds, Action action) {
  Samples samples(/*warm_up=*/1, rounds);
  while (samples.Wanted()) {
    const Stopwatch watch;
    if (absl::Status status = action(); !status.ok()) return status;
    samples.Add(watch.Seconds());
  }
  return samples.Take();
}

// Measures rounds of `work` units each, in units per second.
template <typename Action>
absl::StatusOr<Summary> RateOf(int rounds, double work, Action action) {
  auto samples = TimeRounds(rounds, action);
  if (!samples.ok()) return samples.status();
  for (double& sample : *samples) sample = work / sample;
  return Summary::Of(*std::move(samples), Better::kMore);
}

// Measures rounds of `work` units each, in microseconds per unit.
template <typename Action>
absl::StatusOr<Summary> TimePerUnit(int rounds, double work, Action action) {
  auto samples = TimeRounds(rounds, action);
  if (!samples.ok()) return samples.status();
  for (double& sample : *samples) sample *= 1e6 / work;
  return Summary::Of(*std::move(samples), Better::kLess);
}

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_SUMMARY_H_
