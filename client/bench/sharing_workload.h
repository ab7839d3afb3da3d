// SPDX-License-Identifier: Apache-2.0
//
// Measures two streams that take turns and wait for each other: the same for
// two sessions and for one native process.
#ifndef HOLDFAST_CLIENT_BENCH_SHARING_WORKLOAD_H_
#define HOLDFAST_CLIENT_BENCH_SHARING_WORKLOAD_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/bench/summary.h"

namespace holdfast::bench {

// Returns the microseconds of a turn there and back. `play` submits the turn of
// the given number; turns are numbered from 1 over all games of kTurns turns.
// `synchronize` waits for all submitted turns. The first game is not measured.
template <typename Play, typename Synchronize>
absl::StatusOr<Summary> TurnTime(bool quick, Play play,
                                 Synchronize synchronize) {
  constexpr int kTurns = 200;
  std::vector<double> samples;
  uint64_t turn = 0;
  for (int game = -1; game < (quick ? 10 : 50); ++game) {
    const Stopwatch watch;
    for (int i = 0; i < kTurns; ++i) {
      if (absl::Status status = play(++turn); !status.ok()) return status;
    }
    if (absl::Status status = synchronize(); !status.ok()) return status;
    if (game >= 0) samples.push_back(watch.Microseconds() / kTurns);
  }
  return Summary::Of(std::move(samples), Better::kLess);
}

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_SHARING_WORKLOAD_H_
