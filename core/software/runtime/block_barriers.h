// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_BLOCK_BARRIERS_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_BLOCK_BARRIERS_H_

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace holdfast::software {

// The 16 barriers of a block. Threads that have ended, and those that are
// missing in the last warp, count as arrived where a barrier waits for the
// whole block. Used by one thread.
//
// A barrier counts rounds. A warp that arrives gets the number of the round,
// waits until Passed, and reads the Result; the last to arrive completes the
// round. An object serves one block after another, by Restart.
class BlockBarriers {
 public:
  static constexpr uint32_t kCount = 16;

  // Threads of the block, of which none has ended.
  explicit BlockBarriers(uint32_t threads);
  // For the next block. Cheaper than new ones: most blocks use few of the 16.
  // REQUIRES: no warp waits for a round of the block before.
  void Restart(uint32_t threads);

  // See holdfast_barrier_arrive (abi.h); barrier < kCount. A warp all of whose
  // live threads arrive together counts in full, as the hardware has it.
  // Returns the round that the warp waits for, which may be completed already.
  uint32_t Arrive(uint32_t barrier, uint32_t threads, uint32_t lanes,
                  uint32_t live, uint32_t predicate);
  // A whole warp, none of whose threads has ended, with nothing for a
  // reduction: those may not meet others at a barrier. True: the last.
  bool ArriveWhole(uint32_t barrier, uint32_t threads);
  // So many threads have ended; rounds that waited for them alone are
  // completed.
  void End(uint32_t threads);
  // Rounds count from 0, each barrier by itself.
  bool Passed(uint32_t barrier, uint32_t round) const {
    return barriers_[barrier].round != round;
  }
  // How many predicates were true; bit 31 is set if all were. REQUIRES: Passed,
  // and the next round but one has not been completed.
  uint32_t Result(uint32_t barrier, uint32_t round) const;
  // Bit i: barrier i has completed a round since this was last asked for.
  uint32_t TakeCompleted() { return std::exchange(completed_, 0); }

 private:
  static constexpr uint32_t kWarpThreads = 32;
  static constexpr uint32_t kAllTrue = 1u << 31;

  // In one line of the cache.
  struct alignas(32) Barrier {
    uint32_t round = 0;
    uint32_t expected = 0;  // threads; 0: all
    uint32_t arrived = 0;
    uint32_t lanes = 0;  // that have contributed to the reduction
    uint32_t truths = 0;
    // Results of the last two rounds: a round cannot end before all have read
    // the result of the one before the last.
    uint32_t results[2] = {0, 0};
  };

  // Returns whether the round is completed by now.
  bool Check(uint32_t barrier);
  // Without the instruction, which not every CPU has, counting takes a while.
  static uint32_t CountOf(uint32_t lanes) {
    return lanes == ~0u ? kWarpThreads
           : lanes == 0 ? 0
                        : static_cast<uint32_t>(std::popcount(lanes));
  }

  uint32_t living_;  // threads that have not ended
  uint32_t completed_ = 0;
  uint32_t open_ = 0;  // bit i: a warp waits at barrier i
  std::array<Barrier, kCount> barriers_;
};

// Inline, for they run at every barrier of every warp.
inline uint32_t BlockBarriers::Arrive(uint32_t barrier, uint32_t threads,
                                      uint32_t lanes, uint32_t live,
                                      uint32_t predicate) {
  Barrier& b = barriers_[barrier];
  const uint32_t count = CountOf(lanes);
  const uint32_t round = b.round;
  b.expected = threads;
  b.arrived += threads != 0 && lanes == live ? kWarpThreads : count;
  b.lanes += count;
  b.truths += CountOf(predicate & lanes);
  open_ |= 1u << barrier;
  Check(barrier);
  return round;
}

inline bool BlockBarriers::ArriveWhole(uint32_t barrier, uint32_t threads) {
  Barrier& b = barriers_[barrier];
  b.expected = threads;
  b.arrived += kWarpThreads;
  open_ |= 1u << barrier;
  return Check(barrier);
}

// Completes the round if all have come.
inline bool BlockBarriers::Check(uint32_t barrier) {
  Barrier& b = barriers_[barrier];
  if (b.arrived < (b.expected != 0 ? b.expected : living_)) return false;
  b.results[b.round % 2] = b.truths | (b.truths == b.lanes ? kAllTrue : 0);
  ++b.round;
  b.arrived = b.lanes = b.truths = 0;
  completed_ |= 1u << barrier;
  open_ &= ~(1u << barrier);
  return true;
}

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_BLOCK_BARRIERS_H_
