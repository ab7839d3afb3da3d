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

// An argument of WarpScheduler::Wait: a completed round of any barrier wakes
// the warp.
inline constexpr uint32_t kAnyBarrier = ~0u;

class WarpScheduler;

// A place for resident blocks. The blocks of one place run one after the other,
// concurrently with the blocks of other places.
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
  // The number of blocks of a cluster. The places of the blocks of a cluster
  // are consecutive.
  uint32_t cluster_blocks;
  // The local memory of all warps: `local_bytes` bytes for each warp, without
  // gaps.
  uint8_t* local;
  size_t local_bytes;
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
  uint32_t arrived = 0;  // living threads that have arrived at the barrier
};

// The state of one BlockPlace and its present block. Its warps are consecutive
// in the circle of all warps.
struct ResidentBlock {
  BlockBarriers barriers;
  absl::Span<Warp> warps;
  ResidentCluster* cluster;
  uint32_t done = 0;  // warps that have ended the present block
};

// A warp of the blocks of one place: the position of its stack, its scheduling
// state, and the context of the generated code that runs on the stack. Only the
// scheduler's thread uses a Warp. Later launches reuse it.
//
// The fields that a switch of stacks uses come first, in one cache line.
class alignas(64) Warp {
 public:
  // kReady: the warp runs or can run. kWaiting: it waits for a barrier of
  // `awaits`. kDone: it has ended its block, and other warps of the block have
  // not. kEnded: it has ended its last block.
  enum class State : uint32_t { kReady, kWaiting, kDone, kEnded };

  State state = State::kReady;
  uint32_t awaits = 0;  // bit i: a completed round of barrier i wakes the warp
  StackPosition position;
  Warp* next = nullptr;  // the next warp in the circle of all warps
  WarpScheduler* scheduler = nullptr;
  ResidentBlock* block = nullptr;
  // The number of lanes that have ended in the present block, including
  // `missing`.
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
  // Returns the calling thread's scheduler, which the first call makes. The
  // scheduler lives as long as the thread, and keeps the stacks of the thread's
  // largest launch.
  static WarpScheduler& OfThread();

  WarpScheduler(const WarpScheduler&) = delete;
  WarpScheduler& operator=(const WarpScheduler&) = delete;

  // Runs all blocks to their ends. The warps of all places take turns. Returns
  // false, and runs nothing, if there is no memory for stacks. On a fault,
  // jumps to launch.escape and does not return. It is also a fault, a deadlock,
  // if all warps that have not ended wait at barriers.
  bool Run(const SchedulerLaunch& launch);

  // Returns the context of the warp that ran last. REQUIRES: Run was called and
  // did not return false.
  const WorkerContext& last() const { return at_->context; }
  // Returns the numbers of the warps of the block of last() that wait at
  // barriers, such as "0, 3". The report of a deadlock contains them.
  std::string Waiting() const;

  // Runs other warps until one of `barriers` (bit i: barrier i) has completed a
  // round and it is again the turn of `warp`. REQUIRES, also for RunOther,
  // Yield and EndBlock: called on the stack of `warp`.
  void Wait(Warp* warp, uint32_t barriers);
  // Runs the next warp that is ready, and returns true when it is again the
  // turn of `warp`. Returns false at once if no other warp is ready.
  bool RunOther(Warp* warp);
  // Runs another warp first. If no other warp is ready, yields the CPU to
  // another thread.
  void Yield(Warp* warp);
  // Ends the present block for this warp. Returns when all warps have ended the
  // block, and `warp` must begin the next block of its place.
  void EndBlock(Warp* warp);
  // Makes the warps ready that wait for a barrier of the block that has
  // completed a round. Costs one load if no barrier has completed a round.
  void Wake(ResidentBlock* block);
  // Records that `lanes` have arrived at the barrier of their cluster. The
  // barrier does not wait for threads that have ended.
  void ArriveAtCluster(Warp* warp, uint32_t lanes);
  // Records, for the barriers of the block and the cluster, that `lanes` have
  // ended. `count` is the number of threads among them that had not ended
  // before.
  void EndInBlock(Warp* warp, uint32_t lanes, uint32_t count);

 private:
  WarpScheduler();
  ~WarpScheduler();

  // Grows the stack of the calling thread's scheduler that contains `address`.
  // Returns false if no stack contains it, or the stack cannot grow.
  static bool GrowStackOfThread(uintptr_t address);
  static void Main(void* warp);
  // Makes room for `warps` warps and `places` places. Returns false if there is
  // no memory for stacks.
  bool Reserve(size_t warps, size_t places);
  // Completes the round of the cluster's barrier if all living threads have
  // arrived.
  static void CheckCluster(ResidentCluster* cluster);
  // Prepares warp i to begin its first block.
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
  size_t count_ = 0;      // the number of warps in use
  Warp* at_ = nullptr;    // the warp that runs or ran last
  size_t ended_ = 0;      // warps that are kEnded
  StackPosition caller_;  // on the stack of the caller of Run
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_WARP_SCHEDULER_H_
