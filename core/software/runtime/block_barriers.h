// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_BLOCK_BARRIERS_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_BLOCK_BARRIERS_H_

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace holdfast::software {

// The 16 barriers of a block. A barrier that waits for the whole block waits
// neither for threads that have ended, nor for threads that the block's last
// warp lacks. Not thread-safe.
//
// A barrier counts rounds. Arrive returns the number of the round to the warp.
// The warp waits until Passed returns true for the round, and then reads the
// Result. The last arrival completes the round. Restart prepares an object for
// the next block.
class BlockBarriers {
 public:
  static constexpr uint32_t kCount = 16;

  // `threads` is the number of the block's threads, none of which has ended.
  explicit BlockBarriers(uint32_t threads);
  // Begins the next block. This is cheaper than a new object, because most
  // blocks use few of the 16 barriers. REQUIRES: no warp waits for a round of
  // the previous block.
  void Restart(uint32_t threads);

  // Records that `lanes` of a warp arrive; see holdfast_barrier_arrive (abi.h)
  // for the parameters. If a barrier waits for a number of threads, a warp
  // whose live threads arrive together counts as 32 threads, as on hardware.
  // Returns the round for which the warp must wait. The round may already be
  // completed. REQUIRES, also for ArriveWhole: barrier < kCount.
  uint32_t Arrive(uint32_t barrier, uint32_t threads, uint32_t lanes,
                  uint32_t live, uint32_t predicate);
  // Records that a whole warp arrives without a predicate. Returns true if the
  // round is then completed. REQUIRES: no thread of the warp has ended, and no
  // warp has arrived with a predicate in this round.
  bool ArriveWhole(uint32_t barrier, uint32_t threads);
  // Records that `threads` more threads have ended. Completes the rounds that
  // waited only for these threads.
  void End(uint32_t threads);
  // Returns true if the round, which Arrive returned, is completed.
  bool Passed(uint32_t barrier, uint32_t round) const {
    return barriers_[barrier].round != round;
  }
  // Returns the number of true predicates; bit 31 is set if all were true.
  // REQUIRES: the round is completed, and round + 2 is not.
  uint32_t Result(uint32_t barrier, uint32_t round) const;
  // Returns the barriers that have completed a round since the last call. Bit i
  // stands for barrier i.
  uint32_t TakeCompleted() { return std::exchange(completed_, 0); }

 private:
  static constexpr uint32_t kWarpThreads = 32;
  static constexpr uint32_t kAllTrue = 1u << 31;

  // The state of a barrier. The alignment keeps it within one cache line.
  struct alignas(32) Barrier {
    uint32_t round = 0;
    uint32_t expected = 0;  // the threads for which it waits; 0: the block
    uint32_t arrived = 0;   // threads
    uint32_t lanes = 0;     // threads that have brought a predicate
    uint32_t truths = 0;    // true predicates
    // The results of the last two rounds. Round n + 2 cannot end before all
    // warps have read the result of round n.
    uint32_t results[2] = {0, 0};
  };

  // Completes the round, and returns true, if all threads have arrived.
  bool Check(uint32_t barrier);
  // Returns the number of lanes. The frequent cases need no popcount, which is
  // slow on CPUs without the instruction.
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

// These functions are inline because they run at every barrier of every warp.
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
