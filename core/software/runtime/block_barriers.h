// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_BLOCK_BARRIERS_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_BLOCK_BARRIERS_H_

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace holdfast::software {

// The 16 barriers of a block. A barrier that waits for the whole block does not
// wait for threads that have ended, or that the last warp does not have. Not
// thread-safe.
//
// A barrier counts rounds. A warp that arrives gets the number of the round,
// waits until Passed, and reads the Result; the last arrival completes the
// round. Restart prepares an object for the next block.
class BlockBarriers {
 public:
  static constexpr uint32_t kCount = 16;

  // `threads` is the number of the block's threads, none of which has ended.
  explicit BlockBarriers(uint32_t threads);
  // Begins the next block. Cheaper than a new object, because most blocks use
  // few of the 16 barriers. REQUIRES: no warp waits for a round of the block
  // before.
  void Restart(uint32_t threads);

  // Notes that `lanes` of a warp arrive; see holdfast_barrier_arrive (abi.h).
  // REQUIRES: barrier < kCount. If a barrier waits for a number of threads, a
  // warp whose live threads arrive together counts as 32, as on hardware.
  // Returns the round to wait for, which may be completed already.
  uint32_t Arrive(uint32_t barrier, uint32_t threads, uint32_t lanes,
                  uint32_t live, uint32_t predicate);
  // Notes that a whole warp arrives, of which no thread has ended, without a
  // predicate. REQUIRES: no reduction is going on at the barrier. Returns true
  // if the round is completed.
  bool ArriveWhole(uint32_t barrier, uint32_t threads);
  // Notes that `threads` more threads have ended. Completes the rounds that
  // waited only for them.
  void End(uint32_t threads);
  // Returns true if the round is completed. Each barrier counts its own rounds,
  // from 0.
  bool Passed(uint32_t barrier, uint32_t round) const {
    return barriers_[barrier].round != round;
  }
  // Returns the number of true predicates; bit 31 is set if all were true.
  // REQUIRES: the round is completed, and round + 2 is not.
  uint32_t Result(uint32_t barrier, uint32_t round) const;
  // Returns the barriers that have completed a round since the last call, as
  // bits.
  uint32_t TakeCompleted() { return std::exchange(completed_, 0); }

 private:
  static constexpr uint32_t kWarpThreads = 32;
  static constexpr uint32_t kAllTrue = 1u << 31;

  // Aligned to be within one cache line.
  struct alignas(32) Barrier {
    uint32_t round = 0;
    uint32_t expected = 0;  // threads; 0: all
    uint32_t arrived = 0;
    uint32_t lanes = 0;  // that have contributed to the reduction
    uint32_t truths = 0;
    // Results of the last two rounds. A round cannot end before all warps have
    // read the result of the round two before it.
    uint32_t results[2] = {0, 0};
  };

  // Completes the round if all threads have arrived. Returns true if so.
  bool Check(uint32_t barrier);
  // The frequent cases need no popcount, which is slow without the instruction.
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

// Inline, because they run at every barrier of every warp.
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
