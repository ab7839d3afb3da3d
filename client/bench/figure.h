// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_FIGURE_H_
#define HOLDFAST_CLIENT_BENCH_FIGURE_H_

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
  // "µs", "ms", "/s", "GB/s", "MiB"
  std::string unit;
  Better better = Better::kLess;
  Summary value;
  std::optional<Baseline> baseline;
  std::optional<Bar> bar;

  // value / baseline
  std::optional<double> Ratio() const;
  std::optional<bool> Met() const;

  // Bars: a number, or a multiple of the baseline; none without a baseline.
  Figure Reaching(double limit, const std::string& text) &&;
  Figure ReachingRatio(double ratio) &&;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_FIGURE_H_
