// SPDX-License-Identifier: Apache-2.0
//
// Warps that wait for each other: each has a stack of its own, and one thread
// runs them in turn.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_WARP_SCHEDULER_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_WARP_SCHEDULER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/software/runtime/abi.h"
#include "core/software/runtime/block_barriers.h"
#include "core/software/runtime/stack_switch.h"

namespace holdfast::software {

// For WarpScheduler::Wait.
inline constexpr uint32_t kAnyBarrier = ~0u;

class WarpScheduler;

// Where a block runs that is resident together with others.
struct BlockPlace {
  uint64_t block;           // the first of those that run there
  uint8_t* shared;          // their shared memory
  uint8_t* cluster_shared;  // WorkerContext::cluster_shared
};

// All that one Run needs; borrowed until it returns.
struct SchedulerLaunch {
  KernelFunction* function;
  const LaunchContext* context;
  const std::vector<BlockPlace>* places;
  // Blocks that run one after the other in each place. REQUIRES: 1, if clusters
  // have several blocks.
  uint64_t in_turn;
  // Places of the blocks of each cluster, which follow each other.
  uint32_t cluster_blocks;
  // The local memory of all warps, one behind the other.
  uint8_t* local;
  size_t local_bytes;  // of a warp
  uint32_t block_threads;
  void* escape;  // WorkerContext::escape
};

class Warp;

// The blocks of one cluster, with their barrier. Its warps follow each other in
// the circle.
struct ResidentCluster {
  absl::Span<Warp> warps;
  uint32_t living = 0;   // threads that have not ended
  uint32_t arrived = 0;  // of those, at the barrier
};

// A place for blocks, which run there one after the other. Its warps follow
// each other in the circle.
struct ResidentBlock {
  BlockBarriers barriers;
  absl::Span<Warp> warps;
  ResidentCluster* cluster;
  uint32_t done = 0;  // warps that have ended with the block at hand
};

// A warp of the blocks of one place. Only the thread of its scheduler touches
// it. The fields that a switch touches come first, in one line of the cache.
//
// Its stack, and what generated code on it and the scheduler tell each other. A
// warp is used anew for each launch.
class alignas(64) Warp {
 public:
  // See warp_scheduler.cc.
  enum class State : uint32_t { kReady, kWaiting, kDone, kEnded };

  State state = State::kReady;
  // kAnyBarrier: any.
  uint32_t awaits = 0;  // bit i: a round of barrier i would wake it
  StackPosition position;
  Warp* next = nullptr;  // in the circle
  WarpScheduler* scheduler = nullptr;
  ResidentBlock* block = nullptr;
  // Counted anew for each block.
  uint32_t ended = 0;    // lanes of the block at hand that have
  uint32_t missing = 0;  // lanes that no block has
  // Lanes that have arrived at the barrier of the cluster, in the round at
  // hand.
  uint32_t at_cluster = 0;
  WorkerContext context;
};

// Runs warps that wait for each other on one thread, in turns, each on a stack
// of its own. Not thread-safe: each thread has its own.
//
// Generated code calls it by the functions of abi.h when a warp has to wait.
// There is no thread that schedules: each warp switches straight to the next.
class WarpScheduler {
 public:
  // Made on first use. Keeps the stacks of the thread's largest launch.
  static WarpScheduler& OfThread();

  // Runs all warps of the blocks to their ends, those of all places side by
  // side. Leaves by way of launch.escape on a fault. Returns false if there is
  // no memory for stacks. A deadlock, where all warps that are left wait at
  // barriers, is such a fault.
  bool Run(const SchedulerLaunch& launch);

  // Where the warp that ran last was. REQUIRES: Run has been called.
  const WorkerContext& last() const { return at_->context; }
  // "0, 3": warps that wait at barriers, for the report of a deadlock. Those of
  // the block in which the last warp ran.
  std::string Waiting() const;

  // Called on the stack of `warp`, which goes on when its turn comes again:
  // once one of the barriers has completed a round (bit i: barrier i). Comes
  // back when the warp is switched to, with the round completed.
  void Wait(Warp* warp, uint32_t barriers);
  // Another warp may run first; on a thread with nothing to run, another
  // thread.
  void Yield(Warp* warp);
  // Once the warp's block has ended, the next one begins. The other warps of
  // the block follow when their turn comes.
  void EndBlock(Warp* warp);
  // Warps of the block that wait for what has completed can run. Costs one load
  // if nothing has completed.
  void Wake(ResidentBlock* block);
  // `lanes` arrive at the barrier of their cluster, which does not wait for
  // threads that have ended.
  void ArriveAtCluster(Warp* warp, uint32_t lanes);
  // `lanes` have ended, and so have `count` threads: a last warp has fewer.
  void EndInBlock(Warp* warp, uint32_t lanes, uint32_t count);

 private:
  static void Main(void* warp);
  // Room for so many warps and resident blocks. False: no memory for stacks.
  bool Reserve(size_t warps, size_t places);
  // Ends the round of the cluster's barrier if all have come.
  static void CheckCluster(ResidentCluster* cluster);
  // Puts warp i at the beginning of its first block.
  void Prepare(size_t i);
  // Runs the next warp that can, in place of `from`, on whose stack it is
  // called; the caller of Run if there is none.
  void RunNext(Warp* from);
  // Faults with kDeadlock unless all warps have ended.
  void ReturnToCaller(Warp* from);
  void Switch(Warp* from, Warp* to);

  SchedulerLaunch launch_ = {};
  std::vector<Stack> stacks_;
  std::vector<Warp> warps_;
  std::vector<ResidentBlock> blocks_;
  std::vector<ResidentCluster> clusters_;
  uint32_t block_warps_ = 0;
  size_t count_ = 0;    // of warps_ in use
  Warp* at_ = nullptr;  // that runs
  size_t ended_ = 0;
  StackPosition caller_;  // the stack that Run was called on
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_WARP_SCHEDULER_H_
