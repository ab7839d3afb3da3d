// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COUNTERS_DURATION_HISTOGRAM_H_
#define HOLDFAST_SERVER_COUNTERS_DURATION_HISTOGRAM_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace holdfast {

// Counts durations by upper bound, from half a millisecond to a minute.
// Thread-safe. A reader may see a duration in the counts before it is in the
// sum.
class DurationHistogram {
 public:
  static constexpr std::array<double, 15> kBounds = {
      0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
      0.25,   0.5,   1,      2.5,   5,    10,    60};  // seconds

  // Counts a duration. A duration over all bounds counts in Counts::all only.
  void Observe(absl::Duration duration) {
    const double seconds = absl::ToDoubleSeconds(duration);
    const auto bound =
        std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
    counts_[static_cast<size_t>(bound - kBounds.begin())].fetch_add(
        1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(absl::ToInt64Nanoseconds(duration),
                           std::memory_order_relaxed);
  }

  // Returns true if nothing was observed yet.
  bool empty() const {
    return std::all_of(counts_.begin(), counts_.end(),
                       [](const auto& count) { return count == 0; });
  }

  // The number of durations up to each bound, and the number and the sum of all
  // durations.
  struct Counts {
    std::array<uint64_t, kBounds.size()> up_to_bound{};
    uint64_t all = 0;
    absl::Duration sum;
  };
  Counts Read() const {
    Counts counts;
    for (size_t i = 0; i < kBounds.size(); ++i) {
      counts.all += counts_[i].load(std::memory_order_relaxed);
      counts.up_to_bound[i] = counts.all;
    }
    counts.all += counts_.back().load(std::memory_order_relaxed);
    counts.sum =
        absl::Nanoseconds(nanoseconds_.load(std::memory_order_relaxed));
    return counts;
  }

 private:
  // The last count is for durations over all bounds.
  std::array<std::atomic<uint64_t>, kBounds.size() + 1> counts_{};
  std::atomic<int64_t> nanoseconds_{0};
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COUNTERS_DURATION_HISTOGRAM_H_
