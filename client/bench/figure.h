// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_FIGURE_H_
#define HOLDFAST_CLIENT_BENCH_FIGURE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "client/bench/summary.h"

namespace holdfast::bench {

// A value that a figure is compared with, measured in the same run: "native",
// "bare gRPC".
struct Baseline {
  std::string name;
  Summary value;
};

// A bound that a figure has to reach, in its own unit.
struct Bar {
  // "≥ 0.95 × native"
  std::string text;
  double limit = 0;
};

// One line of the benchmark.
struct Figure {
  std::string group;
  std::string name;
  // The unit: "µs", "ms", "/s", "GB/s" or "MiB".
  std::string unit;
  Better better = Better::kLess;
  Summary value;
  std::optional<Baseline> baseline;
  std::optional<Bar> bar;

  // Returns value / baseline; nullopt: there is no baseline.
  std::optional<double> Ratio() const;
  // Returns true if the value reaches the bar; nullopt: there is no bar.
  std::optional<bool> Met() const;

  // Set the bar: a number, or a multiple of the baseline. Without a baseline,
  // ReachingRatio and the functions below set no bar.
  Figure Reaching(double limit, const std::string& text) &&;
  Figure ReachingRatio(double ratio) &&;
  // Sets the bar to the baseline plus `more`, in the figure's unit. REQUIRES:
  // the figure is a time.
  Figure ReachingSum(double more) &&;
  // Sets the bar to the rate of copies that each take the baseline's time plus
  // `more` microseconds, for copies of `bytes`. REQUIRES: the figure is a rate
  // in GB/s.
  Figure ReachingCopySum(uint64_t bytes, double more) &&;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_FIGURE_H_
