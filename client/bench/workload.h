// SPDX-License-Identifier: Apache-2.0
//
// The sizes of the measurements, the same for Holdfast and for its baselines.
#ifndef HOLDFAST_CLIENT_BENCH_WORKLOAD_H_
#define HOLDFAST_CLIENT_BENCH_WORKLOAD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/bench/summary.h"

namespace holdfast::bench {

// The number of rounds of a rate, whose median counts.
inline constexpr int kRounds = 7;

inline int LaunchesPerRound(bool quick) { return quick ? 2'000 : 20'000; }
inline int LatencySamples(bool quick) { return quick ? 200 : 2'000; }

inline int Compilations(bool quick) { return quick ? 8 : 24; }

// Sizes in bytes, ascending.
std::vector<uint64_t> CopySizes(bool quick);
std::vector<uint64_t> NetworkSizes(bool quick);

// Measures `copy`, which returns a Status, in GB/s. Larger copies are repeated
// less often.
template <typename Copy>
absl::StatusOr<Summary> CopyRate(uint64_t size, Copy copy) {
  const uint64_t affordable = (uint64_t{2} << 30) / size;
  const int count = static_cast<int>(std::clamp<uint64_t>(affordable, 5, 200));
  Samples samples(/*warm_up=*/1, count);
  while (samples.Wanted()) {
    const Stopwatch watch;
    if (absl::Status status = copy(); !status.ok()) return status;
    samples.Add(1e-9 * static_cast<double>(size) / watch.Seconds());
  }
  return Summary::Of(samples.Take(), Better::kMore);
}

// Returns SAXPY source that was not compiled before in this run.
std::string NewSource(int number);

// The arrays of the SAXPY application, kSaxpyN long. The numbers are small
// integers, so that the result is exact however it is rounded.
inline constexpr float kSaxpyA = 2.0f;
void MakeSaxpyData(float* x, float* y);
// Checks the result of SAXPY. DATA_LOSS: some elements are wrong.
absl::Status CheckSaxpy(const float* x, const float* y, const float* out);

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_WORKLOAD_H_
