// SPDX-License-Identifier: Apache-2.0
//
// Runs warps that wait for each other as fibers: each warp has a stack of its
// own, and one thread runs the warps in turn.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_WARP_SCHEDULER_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_WARP_SCHEDULER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/software/abi/abi.h"
#include "core/software/runtime/block_barriers.h"
#include "core/software/runtime/stack_switch.h"

namespace holdfast::software {

// An argument of WarpScheduler::Wait: a round of any barrier wakes the warp.
inline constexpr uint32_t kAnyBarrier = ~0u;

class WarpScheduler;

// A place for blocks that are resident together with the blocks of other
// places. The blocks of one place run one after the other.
struct BlockPlace {
  uint64_t block;           // the number of its first block
  uint8_t* shared;          // the shared memory of its blocks
  uint8_t* cluster_shared;  // WorkerContext::cluster_shared
};

// The arguments of one Run. The pointers are borrowed until Run returns.
struct SchedulerLaunch {
  KernelFunction* function;
  const LaunchContext* context;
  const std::vector<BlockPlace>* places;
  // The number of blocks that run one after the other in each place. REQUIRES:
  // 1 if clusters have several blocks.
  uint64_t in_turn;
  // The number of blocks of a cluster. Their places are consecutive.
  uint32_t cluster_blocks;
  // The local memory of all warps, without gaps between them.
  uint8_t* local;
  size_t local_bytes;  // of a warp
  uint32_t block_threads;
  void* escape;       // WorkerContext::escape
  BufferSpan* spans;  // WorkerContext::spans
};

class Warp;

// The state of one cluster, with its barrier. Its warps are consecutive in the
// circle of all warps (Warp::next).
struct ResidentCluster {
  absl::Span<Warp> warps;
  uint32_t living = 0;   // threads that have not ended
  uint32_t arrived = 0;  // of those, at the barrier
};

// The state of one BlockPlace. Its warps are consecutive in the circle.
struct ResidentBlock {
  BlockBarriers barriers;
  absl::Span<Warp> warps;
  ResidentCluster* cluster;
  uint32_t done = 0;  // warps that have ended the present block
};

// A warp of the blocks of one place: the position of its stack, its scheduling
// state, and the context of the generated code that runs on the stack. Used by
// the scheduler's thread only, and reused for later launches.
//
// The fields that a switch of stacks uses come first, in one cache line.
class alignas(64) Warp {
 public:
  // kReady: runs or can run. kWaiting: waits for a barrier of `awaits`. kDone:
  // has ended its block, of which other warps still run. kEnded: has ended its
  // last block.
  enum class State : uint32_t { kReady, kWaiting, kDone, kEnded };

  State state = State::kReady;
  uint32_t awaits = 0;  // bit i: a completed round of barrier i wakes it
  StackPosition position;
  Warp* next = nullptr;  // in the circle of all warps
  WarpScheduler* scheduler = nullptr;
  ResidentBlock* block = nullptr;
  // The number of lanes that have ended in the present block, with `missing`.
  uint32_t ended = 0;
  uint32_t missing = 0;  // lanes without a thread, in a block's last warp
  // Bit i: lane i has arrived in the present round of the cluster's barrier.
  uint32_t at_cluster = 0;
  WorkerContext context;
};

// Runs warps that wait for each other on one thread, in turn, each on a stack
// of its own. Not thread-safe: each thread has its own scheduler.
//
// Generated code calls the scheduler through the functions of abi.h when a warp
// has to wait. The warp then switches directly to the next ready warp.
class WarpScheduler {
 public:
  // Returns the calling thread's scheduler, made on first use. It keeps the
  // stacks of the thread's largest launch.
  static WarpScheduler& OfThread();

  WarpScheduler(const WarpScheduler&) = delete;
  WarpScheduler& operator=(const WarpScheduler&) = delete;

  // Runs all blocks to their ends; the warps of all places take turns. Returns
  // false, and runs nothing, if there is no memory for stacks. On a fault,
  // jumps to launch.escape and does not return. A deadlock is a fault: all
  // warps that have not ended wait at barriers.
  bool Run(const SchedulerLaunch& launch);

  // Returns the context of the warp that ran last. REQUIRES: Run was called and
  // did not return false.
  const WorkerContext& last() const { return at_->context; }
  // Returns the numbers of the warps that wait at barriers, "0, 3", in the
  // block of last(). For the report of a deadlock.
  std::string Waiting() const;

  // Runs other warps until one of `barriers` (bit i: barrier i) has completed a
  // round and it is the warp's turn again. REQUIRES, also for RunOther,
  // Yield and EndBlock: called on the stack of `warp`.
  void Wait(Warp* warp, uint32_t barriers);
  // Switches to the next warp that is ready, and comes back when the turn is
  // the warp's again. Returns false, at once, if no other warp is ready.
  bool RunOther(Warp* warp);
  // Lets another warp run first. If no other warp is ready, yields the CPU to
  // another thread.
  void Yield(Warp* warp);
  // Ends the present block for this warp. Returns when all warps of the block
  // have ended it, and the warp must begin the next block of its place.
  void EndBlock(Warp* warp);
  // Makes warps ready that wait for a barrier of the block which has completed
  // a round. Costs one load if no barrier has.
  void Wake(ResidentBlock* block);
  // Notes that `lanes` have arrived at the barrier of their cluster. It does
  // not wait for threads that have ended.
  void ArriveAtCluster(Warp* warp, uint32_t lanes);
  // Notes that `lanes` have ended, for the barriers of the block and the
  // cluster. `count` of them have a thread that had not ended before.
  void EndInBlock(Warp* warp, uint32_t lanes, uint32_t count);

 private:
  WarpScheduler();
  ~WarpScheduler();

  // Grows the stack of the calling thread that `address` belongs to. Returns
  // false if it belongs to none.
  static bool GrowStackOfThread(uintptr_t address);
  static void Main(void* warp);
  // Makes room for so many warps and places. Returns false if there is no
  // memory for stacks.
  bool Reserve(size_t warps, size_t places);
  // Completes the round of the cluster's barrier if all living threads have
  // arrived.
  static void CheckCluster(ResidentCluster* cluster);
  // Puts warp i at the beginning of its first block.
  void Prepare(size_t i);
  // Switches from `from` to the next ready warp, or to the caller of Run if no
  // warp is ready. REQUIRES: called on the stack of `from`.
  void RunNext(Warp* from);
  // Switches to the caller of Run. Faults with kDeadlock unless all warps have
  // ended.
  void ReturnToCaller(Warp* from);
  void Switch(Warp* from, Warp* to);

  SchedulerLaunch launch_ = {};
  std::vector<Stack> stacks_;
  std::vector<Warp> warps_;
  std::vector<ResidentBlock> blocks_;
  std::vector<ResidentCluster> clusters_;
  uint32_t block_warps_ = 0;
  size_t count_ = 0;      // of warps_ in use
  Warp* at_ = nullptr;    // runs, or ran last
  size_t ended_ = 0;      // warps that are kEnded
  StackPosition caller_;  // the stack that Run was called on
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_WARP_SCHEDULER_H_
