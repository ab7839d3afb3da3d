// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/warp_ring.h"

#include <sched.h>

#include <bit>

#include "absl/strings/str_cat.h"
#include "core/software/runtime/kernel_fault.h"

namespace holdfast::software {
WarpRing& WarpRing::OfThread() {
  thread_local WarpRing ring;
  return ring;
}

void WarpRing::Main(void* argument) {
  auto* warp = static_cast<Warp*>(argument);
  AfterSwitch(warp->position.notes);
  WarpRing* ring = warp->ring;
  const WorkerContext& at = warp->context;
  ring->launch_.function(ring->launch_.context, &warp->context, at.block,
                         at.block + ring->launch_.in_turn, at.warp,
                         at.warp + 1);
  warp->state = Warp::State::kEnded;
  ++ring->ended_;
  warp->block->barriers.End(kWarpThreads - warp->ended);
  ring->Wake(warp->block);
  ring->Next(warp);
}

bool WarpRing::Reserve(size_t warps, size_t places) {
  while (stacks_.size() < warps) {
    stacks_.emplace_back(stacks_.size());
    if (!stacks_.back().ok()) {
      stacks_.pop_back();
      return false;
    }
  }
  if (warps_.size() < warps) warps_.resize(warps);
  blocks_.assign(places, ResidentBlock(launch_.block_threads));
  return true;
}

void WarpRing::Prepare(size_t i) {
  Warp* warp = &warps_[i];
  const size_t place = i / block_warps_;
  const auto number = static_cast<uint32_t>(i % block_warps_);
  const uint32_t rest = launch_.block_threads - number * kWarpThreads;
  warp->context.launch = launch_.context;
  warp->context.shared = (*launch_.shared)[place];
  warp->context.local = launch_.local + i * launch_.local_bytes;
  warp->context.block = launch_.begin + place * launch_.in_turn;
  warp->context.warp = number;
  warp->context.escape = launch_.escape;
  warp->context.fiber = warp;
  warp->ring = this;
  warp->block = &blocks_[place];
  warp->state = Warp::State::kReady;
  warp->missing = rest < kWarpThreads ? kWarpThreads - rest : 0;
  warp->ended = warp->missing;
  warp->position = stacks_[i].Enter(&Main, warp);
}

bool WarpRing::Run(const RingLaunch& launch) {
  launch_ = launch;
  block_warps_ = (launch.block_threads + kWarpThreads - 1) / kWarpThreads;
  count_ = launch.shared->size() * block_warps_;
  at_ = ended_ = 0;
  if (!Reserve(count_, launch.shared->size())) return false;
  for (size_t i = 0; i < count_; ++i) Prepare(i);
  home_.notes = NotesOfThread();
  SwitchStack(&home_, warps_[0].position);
  return true;
}

// In a circle, so that none is left out. False: nobody else could run.
inline bool WarpRing::Next(Warp* from) {
  for (size_t step = 1; step <= count_; ++step) {
    size_t next = at_ + step;
    if (next >= count_) next -= count_;
    Warp* warp = &warps_[next];
    if (warp->state != Warp::State::kReady) continue;
    if (warp == from) return false;
    at_ = next;
    SwitchStack(&from->position, warp->position);
    return true;
  }
  if (ended_ < count_) {
    LeaveKernel(from->context, {KernelFault::Kind::kDeadlock});
  }
  SwitchStack(&from->position, home_);
  return true;
}

inline void WarpRing::Wait(Warp* warp) {
  warp->state = Warp::State::kWaiting;
  Next(warp);
}

void WarpRing::Yield(Warp* warp) {
  // What the warp waits for may be another thread's.
  if (!Next(warp)) sched_yield();
}

inline void WarpRing::MakeReady(const ResidentBlock* block, Warp::State state) {
  for (size_t i = 0; i < count_; ++i) {
    Warp* warp = &warps_[i];
    if (warp->block == block && warp->state == state) {
      warp->state = Warp::State::kReady;
    }
  }
}

inline void WarpRing::Wake(ResidentBlock* block) {
  if (block->woken == block->barriers.completed()) return;
  block->woken = block->barriers.completed();
  MakeReady(block, Warp::State::kWaiting);
}

void WarpRing::EndBlock(Warp* warp) {
  ResidentBlock* block = warp->block;
  if (++block->done < block_warps_) {
    block->barriers.End(kWarpThreads - warp->ended);
    Wake(block);
    warp->ended = warp->missing;
    warp->state = Warp::State::kDone;
    Next(warp);
    return;
  }
  warp->ended = warp->missing;
  *block = ResidentBlock(launch_.block_threads);
  MakeReady(block, Warp::State::kDone);
}

std::string WarpRing::Waiting() const {
  std::string names;
  for (size_t i = 0; i < count_; ++i) {
    const Warp& warp = warps_[i];
    if (warp.state != Warp::State::kWaiting) continue;
    if (warp.block != warps_[at_].block) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", warp.context.warp);
  }
  return names;
}

namespace {

// Inline, for it runs at every barrier of every warp.
inline uint32_t Arrive(WorkerContext* worker, uint32_t barrier,
                       uint32_t threads, uint32_t lanes, uint32_t live,
                       uint32_t predicate) {
  if (barrier >= BlockBarriers::kCount) {
    LeaveKernel(*worker, {KernelFault::Kind::kIllegalInstruction});
  }
  Warp* warp = worker->fiber;
  const uint32_t round =
      warp->block->barriers.Arrive(barrier, threads, lanes, live, predicate);
  warp->ring->Wake(warp->block);
  return round;
}

}  // namespace

extern "C" {

uint32_t holdfast_barrier_arrive(WorkerContext* worker, uint32_t barrier,
                                 uint32_t threads, uint32_t lanes,
                                 uint32_t live, uint32_t predicate) {
  return Arrive(worker, barrier, threads, lanes, live, predicate);
}

void holdfast_barrier_sync(WorkerContext* worker, uint32_t barrier,
                           uint32_t threads) {
  constexpr uint32_t kAll = 0xFFFFFFFF;
  const uint32_t round = Arrive(worker, barrier, threads, kAll, kAll, 0);
  Warp* warp = worker->fiber;
  while (!warp->block->barriers.Passed(barrier, round)) warp->ring->Wait(warp);
}

bool holdfast_barrier_passed(WorkerContext* worker, uint32_t barrier,
                             uint32_t round) {
  return worker->fiber->block->barriers.Passed(barrier, round);
}

uint32_t holdfast_barrier_result(WorkerContext* worker, uint32_t barrier,
                                 uint32_t round) {
  return worker->fiber->block->barriers.Result(barrier, round);
}

void holdfast_wait(WorkerContext* worker) {
  worker->fiber->ring->Wait(worker->fiber);
}

void holdfast_block_ended(WorkerContext* worker) {
  if (*worker->launch->stopped || *worker->launch->cancel) {
    LeaveKernel(*worker, {KernelFault::Kind::kCancelled});
  }
  worker->fiber->ring->EndBlock(worker->fiber);
}

void holdfast_lanes_ended(WorkerContext* worker, uint32_t lanes) {
  Warp* warp = worker->fiber;
  const uint32_t count = std::popcount(lanes);
  warp->ended += count;
  warp->block->barriers.End(count);
  warp->ring->Wake(warp->block);
}

void holdfast_yield(WorkerContext* worker) {
  if (*worker->launch->stopped) {
    LeaveKernel(*worker, {KernelFault::Kind::kCancelled});
  }
  if (worker->fiber == nullptr) {
    sched_yield();
  } else {
    worker->fiber->ring->Yield(worker->fiber);
  }
}

}  // extern "C"

}  // namespace holdfast::software
