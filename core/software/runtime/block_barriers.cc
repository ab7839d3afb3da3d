// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/block_barriers.h"

#include <bit>

namespace holdfast::software {
namespace {

constexpr uint32_t kWarpThreads = 32;
constexpr uint32_t kAllTrue = 1u << 31;

}  // namespace

BlockBarriers::BlockBarriers(uint32_t threads)
    : whole_((threads + kWarpThreads - 1) / kWarpThreads * kWarpThreads),
      ended_(whole_ - threads) {}

uint32_t BlockBarriers::Arrive(uint32_t barrier, uint32_t threads,
                               uint32_t lanes, uint32_t live,
                               uint32_t predicate) {
  Barrier& b = barriers_[barrier];
  const uint32_t count = std::popcount(lanes);
  const uint32_t round = b.round;
  b.expected = threads;
  b.arrived += threads != 0 && lanes == live ? kWarpThreads : count;
  b.lanes += count;
  b.truths += std::popcount(predicate & lanes);
  Check(&b);
  return round;
}

void BlockBarriers::End(uint32_t threads) {
  ended_ += threads;
  for (Barrier& b : barriers_) {
    if (b.arrived != 0 && b.expected == 0) Check(&b);
  }
}

void BlockBarriers::Check(Barrier* b) {
  const uint32_t expected = b->expected != 0 ? b->expected : whole_ - ended_;
  if (b->arrived < expected) return;
  b->results[b->round % 2] = b->truths | (b->truths == b->lanes ? kAllTrue : 0);
  ++b->round;
  ++completed_;
  b->arrived = b->lanes = b->truths = 0;
}

bool BlockBarriers::Passed(uint32_t barrier, uint32_t round) const {
  return barriers_[barrier].round != round;
}

uint32_t BlockBarriers::Result(uint32_t barrier, uint32_t round) const {
  return barriers_[barrier].results[round % 2];
}

}  // namespace holdfast::software
