// SPDX-License-Identifier: Apache-2.0
//
// Warps as fibers of one thread. A warp runs until it waits at a barrier,
// yields in a loop, or ends, and then switches straight to the next one that
// can run: there is no scheduler between the two, so that a barrier costs
// little more than a switch of stacks for each warp.
//
// kReady    runs, or can
// kWaiting  at a barrier of `awaits`, until Wake finds a completed round
// kDone     has ended its block; the block's other warps have not
// kEnded    has ended its last block
//
// Blocks that must be resident together (a cooperative launch, a cluster) are
// places, each with its own barriers and shared memory; the circle goes through
// the warps of all of them. A cluster is some places with a barrier of their
// own.
#include "core/software/runtime/warp_scheduler.h"

#include <sched.h>

#include <bit>

#include "absl/strings/str_cat.h"
#include "core/software/base/memory_room.h"
#include "core/software/runtime/kernel_fault.h"

namespace holdfast::software {
namespace {

// The scheduler of this thread; null before its first use and after its end. A
// signal handler reads this pointer, because it cannot make a scheduler.
thread_local WarpScheduler* g_of_thread = nullptr;

}  // namespace

WarpScheduler::WarpScheduler() {
  g_of_thread = this;
  SetFaultRepair(&GrowStackOfThread);
}

WarpScheduler::~WarpScheduler() { g_of_thread = nullptr; }

WarpScheduler& WarpScheduler::OfThread() {
  thread_local WarpScheduler scheduler;
  return scheduler;
}

bool WarpScheduler::GrowStackOfThread(uintptr_t address) {
  if (g_of_thread == nullptr) return false;
  for (Stack& stack : g_of_thread->stacks_) {
    if (stack.Grow(address)) return true;
  }
  return false;
}

// The first frame of a warp's stack: runs generated code for all blocks of its
// place, one after the other, and never returns.
void WarpScheduler::Main(void* argument) {
  auto* warp = static_cast<Warp*>(argument);
  AfterSwitch(warp->position.notes);
  WarpScheduler* scheduler = warp->scheduler;
  const WorkerContext& at = warp->context;
  scheduler->launch_.function(scheduler->launch_.context, &warp->context,
                              at.block, at.block + scheduler->launch_.in_turn,
                              at.warp, at.warp + 1);
  warp->state = Warp::State::kEnded;
  ++scheduler->ended_;
  scheduler->EndInBlock(warp, ~0u, kWarpThreads - warp->ended);
  scheduler->RunNext(warp);
}

bool WarpScheduler::Reserve(size_t warps, size_t places) {
  if (stacks_.size() < warps &&
      !HasMemoryRoom((warps - stacks_.size()) * Stack::kFirstBytes,
                     RoomFor::kKernel)) {
    return false;
  }
  const size_t before = stacks_.size();
  while (stacks_.size() < warps) {
    stacks_.emplace_back(stacks_.size());
    if (!stacks_.back().ok()) {
      // Other threads may need them.
      while (stacks_.size() > before) stacks_.pop_back();
      return false;
    }
  }
  if (warps_.size() < warps) warps_.resize(warps);
  clusters_.clear();
  const size_t blocks = launch_.cluster_blocks;
  for (size_t place = 0; place < places; place += blocks) {
    clusters_.push_back(
        {{&warps_[place * block_warps_], blocks * block_warps_},
         static_cast<uint32_t>(blocks * launch_.block_threads)});
  }
  blocks_.clear();
  for (size_t place = 0; place < places; ++place) {
    blocks_.push_back({BlockBarriers(launch_.block_threads),
                       {&warps_[place * block_warps_], block_warps_},
                       &clusters_[place / blocks]});
  }
  return true;
}

// The last warp of a block may lack threads: they count as ended from the
// start.
void WarpScheduler::Prepare(size_t i) {
  Warp* warp = &warps_[i];
  const size_t place = i / block_warps_;
  const auto number = static_cast<uint32_t>(i % block_warps_);
  const uint32_t rest = launch_.block_threads - number * kWarpThreads;
  warp->context.launch = launch_.context;
  warp->context.shared = (*launch_.places)[place].shared;
  warp->context.cluster_shared = (*launch_.places)[place].cluster_shared;
  warp->context.local = launch_.local + i * launch_.local_bytes;
  warp->context.block = (*launch_.places)[place].block;
  warp->context.warp = number;
  warp->context.escape = launch_.escape;
  warp->context.fiber = warp;
  warp->context.spans = launch_.spans;
  warp->next = &warps_[i + 1 < count_ ? i + 1 : 0];
  warp->scheduler = this;
  warp->block = &blocks_[place];
  warp->state = Warp::State::kReady;
  warp->missing = rest < kWarpThreads ? kWarpThreads - rest : 0;
  warp->ended = warp->missing;
  warp->at_cluster = 0;
  warp->position = stacks_[i].Enter(&Main, warp);
}

bool WarpScheduler::Run(const SchedulerLaunch& launch) {
  launch_ = launch;
  block_warps_ = (launch.block_threads + kWarpThreads - 1) / kWarpThreads;
  count_ = launch.places->size() * block_warps_;
  ended_ = 0;
  if (!Reserve(count_, launch.places->size())) return false;
  for (size_t i = 0; i < count_; ++i) Prepare(i);
  caller_.notes = NotesOfThread();
  at_ = warps_.data();
  SwitchStack(&caller_, at_->position);
  return true;
}

inline void WarpScheduler::Switch(Warp* from, Warp* to) {
  at_ = to;
  SwitchStack(&from->position, to->position);
}

// `from` cannot run now. In a circle, so that none is left out.
inline void WarpScheduler::RunNext(Warp* from) {
  Warp* to = from->next;
  while (to->state != Warp::State::kReady) {
    if (to == from) return ReturnToCaller(from);
    to = to->next;
  }
  Switch(from, to);
}

// No warp can run. If not all have ended, those that are left wait for barriers
// that no other warp will reach.
void WarpScheduler::ReturnToCaller(Warp* from) {
  if (ended_ < count_) {
    LeaveKernel(from->context, {KernelFault::Kind::kDeadlock});
  }
  SwitchStack(&from->position, caller_);
}

inline void WarpScheduler::Wait(Warp* warp, uint32_t barriers) {
  warp->state = Warp::State::kWaiting;
  warp->awaits = barriers;
  RunNext(warp);
}

bool WarpScheduler::RunOther(Warp* warp) {
  Warp* to = warp->next;
  while (to != warp && to->state != Warp::State::kReady) to = to->next;
  if (to == warp) return false;
  Switch(warp, to);
  return true;
}

void WarpScheduler::Yield(Warp* warp) {
  // The warp may wait for another thread.
  if (!RunOther(warp)) sched_yield();
}

// Looks only if a round has completed, which TakeCompleted() tells by one load.
inline void WarpScheduler::Wake(ResidentBlock* block) {
  const uint32_t completed = block->barriers.TakeCompleted();
  if (completed == 0) return;
  for (Warp& warp : block->warps) {
    if (warp.state == Warp::State::kWaiting && (warp.awaits & completed) != 0) {
      warp.state = Warp::State::kReady;
    }
  }
}

// A round waits for all threads of the cluster that have not ended.
void WarpScheduler::CheckCluster(ResidentCluster* cluster) {
  if (cluster->arrived == 0 || cluster->arrived < cluster->living) return;
  cluster->arrived = 0;
  for (Warp& warp : cluster->warps) {
    warp.at_cluster = 0;
    if (warp.state == Warp::State::kWaiting &&
        (warp.awaits & (1u << kClusterBarrier)) != 0) {
      warp.state = Warp::State::kReady;
    }
  }
}

void WarpScheduler::ArriveAtCluster(Warp* warp, uint32_t lanes) {
  ResidentCluster* cluster = warp->block->cluster;
  cluster->arrived += std::popcount(lanes & ~warp->at_cluster);
  warp->at_cluster |= lanes;
  CheckCluster(cluster);
}

void WarpScheduler::EndInBlock(Warp* warp, uint32_t lanes, uint32_t count) {
  warp->block->barriers.End(count);
  Wake(warp->block);
  ResidentCluster* cluster = warp->block->cluster;
  cluster->living -= count;
  cluster->arrived -= std::popcount(warp->at_cluster & lanes);
  warp->at_cluster &= ~lanes;
  CheckCluster(cluster);
}

// A block ends when its last warp does, and that warp begins the next one at
// once; the others, which were kDone, follow when their turn comes. A warp that
// has ended counts as arrived at barriers that wait for the whole block.
void WarpScheduler::EndBlock(Warp* warp) {
  ResidentBlock* block = warp->block;
  if (++block->done < block_warps_) {
    EndInBlock(warp, ~0u, kWarpThreads - warp->ended);
    warp->ended = warp->missing;
    warp->state = Warp::State::kDone;
    return RunNext(warp);
  }
  warp->ended = warp->missing;
  block->barriers.Restart(launch_.block_threads);
  block->cluster->living = launch_.block_threads;  // a cluster of its own
  block->cluster->arrived = 0;
  warp->at_cluster = 0;
  block->done = 0;
  for (Warp& other : block->warps) {
    if (other.state == Warp::State::kDone) other.state = Warp::State::kReady;
  }
}

std::string WarpScheduler::Waiting() const {
  std::string names;
  for (size_t i = 0; i < count_; ++i) {
    const Warp& warp = warps_[i];
    if (warp.state != Warp::State::kWaiting) continue;
    if (warp.block != at_->block) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", warp.context.warp);
  }
  return names;
}

namespace {

inline BlockBarriers& BarriersOf(WorkerContext* worker, uint32_t barrier) {
  if (barrier >= BlockBarriers::kCount) {
    LeaveKernel(*worker, {KernelFault::Kind::kIllegalInstruction});
  }
  return worker->fiber->block->barriers;
}

}  // namespace

extern "C" {

uint32_t holdfast_barrier_arrive(WorkerContext* worker, uint32_t barrier,
                                 uint32_t threads, uint32_t lanes,
                                 uint32_t live, uint32_t predicate) {
  BlockBarriers& barriers = BarriersOf(worker, barrier);
  worker->is_ahead = 1;
  const uint32_t round =
      barriers.Arrive(barrier, threads, lanes, live, predicate);
  worker->fiber->scheduler->Wake(worker->fiber->block);
  return round;
}

// Kernels with barriers spend much of their time here: all that it calls is
// inline, and the switch is the last thing that it does.
void holdfast_barrier_sync(WorkerContext* worker, uint32_t barrier,
                           uint32_t threads) {
  BlockBarriers& barriers = BarriersOf(worker, barrier);
  Warp* warp = worker->fiber;
  worker->is_ahead = 1;
  if (barriers.ArriveWhole(barrier, threads)) {
    warp->scheduler->Wake(warp->block);
  } else {
    warp->scheduler->Wait(warp, 1u << barrier);
  }
}

void holdfast_cluster_arrive(WorkerContext* worker, uint32_t lanes) {
  worker->is_ahead = 1;
  worker->fiber->scheduler->ArriveAtCluster(worker->fiber, lanes);
}

bool holdfast_barrier_passed(WorkerContext* worker, uint32_t barrier,
                             uint32_t round) {
  if (barrier == kClusterBarrier) {
    return (worker->fiber->at_cluster & round) == 0;
  }
  return worker->fiber->block->barriers.Passed(barrier, round);
}

uint32_t holdfast_barrier_result(WorkerContext* worker, uint32_t barrier,
                                 uint32_t round) {
  return worker->fiber->block->barriers.Result(barrier, round);
}

void holdfast_wait(WorkerContext* worker) {
  worker->fiber->scheduler->Wait(worker->fiber, kAnyBarrier);
}

void holdfast_block_ended(WorkerContext* worker) {
  if (*worker->launch->stopped || *worker->launch->cancel) {
    LeaveKernel(*worker, {KernelFault::Kind::kCancelled});
  }
  worker->fiber->scheduler->EndBlock(worker->fiber);
}

void holdfast_lanes_ended(WorkerContext* worker, uint32_t lanes) {
  Warp* warp = worker->fiber;
  const uint32_t count = std::popcount(lanes);
  warp->ended += count;
  warp->scheduler->EndInBlock(warp, lanes, count);
}

void holdfast_yield(WorkerContext* worker) {
  if (*worker->launch->stopped) {
    LeaveKernel(*worker, {KernelFault::Kind::kCancelled});
  }
  if (worker->fiber == nullptr) {
    sched_yield();
  } else {
    worker->fiber->scheduler->Yield(worker->fiber);
  }
}

// Each other warp that can run runs once before the turn comes back to this
// warp. Only functions of the scheduler set is_ahead, so the warp has a fiber.
void holdfast_let_others_read(WorkerContext* worker) {
  worker->is_ahead = 0;
  worker->fiber->scheduler->RunOther(worker->fiber);
}

}  // extern "C"

}  // namespace holdfast::software
