// SPDX-License-Identifier: Apache-2.0
//
// Warps that wait for each other: each has a stack of its own, and one thread
// runs them in turn.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_WARP_RING_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_WARP_RING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/software/runtime/abi.h"
#include "core/software/runtime/block_barriers.h"
#include "core/software/runtime/stack_switch.h"

namespace holdfast::software {

class WarpRing;

struct RingLaunch {
  KernelFunction* function;
  const LaunchContext* context;
  uint64_t begin;  // the first block
  // Blocks that run one after the other in each of the places that `shared`
  // has for them: place p has the blocks from begin + p * in_turn.
  uint64_t in_turn;
  // Of each place, its shared memory.
  const std::vector<uint8_t*>* shared;
  // Of all warps, one behind the other.
  uint8_t* local;
  size_t local_bytes;  // of a warp
  uint32_t block_threads;
  void* escape;  // WorkerContext::escape
};

// A place for blocks, which run there one after the other.
struct ResidentBlock {
  explicit ResidentBlock(uint32_t threads) : barriers(threads) {}
  BlockBarriers barriers;
  uint64_t woken = 0;  // barriers.completed() when warps were last woken
  uint32_t done = 0;   // warps that have ended with the block at hand
};

// A warp of the blocks of one place. Only the thread of its ring touches it.
class Warp {
 public:
  enum class State : uint32_t { kReady, kWaiting, kDone, kEnded };

  State state = State::kReady;
  uint32_t ended = 0;    // lanes of the block at hand that have
  uint32_t missing = 0;  // lanes that no block has
  StackPosition position;
  WarpRing* ring = nullptr;
  ResidentBlock* block = nullptr;
  WorkerContext context;
};

// A thread's stacks, and the warps that it runs on them.
class WarpRing {
 public:
  static WarpRing& OfThread();

  // Runs all warps of the blocks to their ends, those of all places side by
  // side. Leaves by way of launch.escape on a fault. False: no memory for
  // stacks.
  bool Run(const RingLaunch& launch);

  // Where the warp that ran last was.
  const WorkerContext& last() const { return warps_[at_].context; }
  // "0, 3": warps that wait at barriers, for the report of a deadlock.
  std::string Waiting() const;

  // Called on the stack of `warp`, which goes on when its turn comes again.
  void Wait(Warp* warp);
  void Yield(Warp* warp);
  // Once the warp's block has ended, the next one begins.
  void EndBlock(Warp* warp);
  // Warps that wait at a barrier look again, if one has completed.
  void Wake(ResidentBlock* block);

 private:
  static void Main(void* warp);
  bool Reserve(size_t warps, size_t places);
  void Prepare(size_t i);
  bool Next(Warp* from);
  void MakeReady(const ResidentBlock* block, Warp::State state);

  RingLaunch launch_ = {};
  std::vector<Stack> stacks_;
  std::vector<Warp> warps_;
  std::vector<ResidentBlock> blocks_;
  uint32_t block_warps_ = 0;
  size_t count_ = 0;  // of warps_ in use
  size_t at_ = 0;
  size_t ended_ = 0;
  StackPosition home_;  // the stack that Run was called on
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_WARP_RING_H_
