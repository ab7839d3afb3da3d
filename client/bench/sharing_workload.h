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

// Returns the time of one turn, in microseconds. In a turn, the second stream
// waits for the first stream, and then the first stream waits for the second.
//
// `play` gets the number of a turn, and submits the turn. `synchronize` blocks
// until all submitted turns are done; it is called after each game of kTurns
// turns. A sample is the mean of a game. The first game is not measured. The
// numbers begin at 1, and increase over all games.
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
