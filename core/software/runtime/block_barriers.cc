// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/block_barriers.h"

namespace holdfast::software {
BlockBarriers::BlockBarriers(uint32_t threads) : living_(threads) {}

// Rounds go on counting, since nothing waits for one any more. A round resets
// its state at its end, so only rounds that never ended are left.
void BlockBarriers::Restart(uint32_t threads) {
  for (uint32_t rest = open_; rest != 0; rest &= rest - 1) {
    Barrier& barrier = barriers_[std::countr_zero(rest)];
    barrier.arrived = barrier.lanes = barrier.truths = 0;
  }
  living_ = threads;
  completed_ = open_ = 0;
}

// Threads that end are no longer waited for where a barrier waits for all: it
// may be complete now.
void BlockBarriers::End(uint32_t threads) {
  living_ -= threads;
  for (uint32_t rest = open_; rest != 0; rest &= rest - 1) {
    const uint32_t barrier = std::countr_zero(rest);
    if (barriers_[barrier].expected == 0) Check(barrier);
  }
}

uint32_t BlockBarriers::Result(uint32_t barrier, uint32_t round) const {
  return barriers_[barrier].results[round % 2];
}

}  // namespace holdfast::software
