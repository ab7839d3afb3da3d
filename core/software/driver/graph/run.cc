// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/run.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/fault.h"
#include "core/software/runtime/worker_pool.h"

namespace holdfast::software {
namespace {

using Clock = std::chrono::steady_clock;

// How long a worker takes to wake up and begin. Less work than that is done
// sooner by the thread that is there.
constexpr uint64_t kWakingNs = 20'000;

constexpr std::chrono::microseconds kShortestPause{1}, kLongestPause{1000};

bool Faulted() { return LastFault() != CUDA_SUCCESS; }

void RunStep(const Program::Entry& entry, LaunchEvents& events) {
  if (entry.step != nullptr && entry.enabled) {
    entry.step->Run(events, entry.slot);
  }
}

bool Ready(const Program::Entry& entry, const LaunchEvents& events) {
  return entry.step == nullptr || entry.step->Ready(events, entry.slot);
}

// Waits until the step need not wait any more, or something has faulted.
void AwaitReady(const Program::Entry& entry, const LaunchEvents& events) {
  std::chrono::microseconds pause = kShortestPause;
  while (!Ready(entry, events) && !Faulted()) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

// Each entry follows the one before it: nothing to keep account of.
void RunChain(const Program& program, LaunchEvents& events) {
  for (const Program::Entry& entry : program.entries()) {
    AwaitReady(entry, events);
    if (Faulted()) return;
    RunStep(entry, events);
  }
}

// One run of a program that is no chain. Entries whose dependencies are done
// wait in one of two lists: `ready_` for any thread, `own_` for the thread that
// runs the graph. Workers are called in when the entries in `ready_` will take
// longer than a worker takes to wake up, as their last runs tell.
class DagRun {
 public:
  DagRun(Program& program, LaunchEvents& events)
      : program_(program),
        events_(events),
        workers_(WorkerPool::Get(), [this] { Help(); }) {}

  void Run() {
    MutexLock lock(&mutex_);
    remaining_ = program_.entries().size();
    for (uint32_t i = 0; i < remaining_; ++i) {
      const uint32_t dependencies = program_.entries()[i].dependencies;
      program_.progress(i).pending = dependencies;
      if (dependencies == 0) PushLocked(i);
    }
    while (!OverLocked()) Advance();
  }

 private:
  bool OverLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return remaining_ == 0 || (Faulted() && running_ == 0);
  }

  // The loop of a worker; returns when nothing is left for it.
  void Help() {
    MutexLock lock(&mutex_);
    while (!ready_.empty() && !Faulted()) RunOne(PopLocked());
    changed_.NotifyAll();
  }

  // One thing that the graph's own thread does.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!ready_.empty() && !Faulted()) {
      const uint32_t next = PopLocked();
      CallWorkersLocked();
      return RunOne(next);
    }
    if (const std::optional<uint32_t> next = PopOwnLocked()) {
      return RunOne(*next);
    }
    Rest();
  }

  // Until a worker has something new, or it is time to look at `own_` again.
  void Rest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    resting_ = true;
    if (own_.empty()) {
      changed_.Wait(&mutex_);  // for workers, since nothing else can go on
    } else {
      changed_.WaitFor(&mutex_, pause_);
      pause_ = std::min(2 * pause_, kLongestPause);
    }
    resting_ = false;
  }

  void RunOne(uint32_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    pause_ = kShortestPause;
    ++running_;
    mutex_.Unlock();
    const Clock::time_point start = Clock::now();
    RunStep(program_.entries()[index], events_);
    const auto took = std::chrono::nanoseconds(Clock::now() - start).count();
    program_.progress(index).expected_ns =
        static_cast<uint32_t>(std::min<int64_t>(took, UINT32_MAX));
    mutex_.Lock();
    --running_;
    FinishLocked(index);
  }

  void FinishLocked(uint32_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const uint32_t next : program_.entries()[index].successors) {
      if (--program_.progress(next).pending == 0) PushLocked(next);
    }
    --remaining_;
  }

  void PushLocked(uint32_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const Program::Entry& entry = program_.entries()[index];
    if (entry.step != nullptr && entry.enabled &&
        entry.step->place() == Step::Place::kOwnThread) {
      own_.push_back(index);
    } else {
      ready_.push_back(index);
      waiting_ns_ += program_.progress(index).expected_ns;
    }
    if (resting_) changed_.NotifyAll();
  }

  uint32_t PopLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const uint32_t index = ready_.front();
    ready_.pop_front();
    waiting_ns_ -=
        std::min<uint64_t>(waiting_ns_, program_.progress(index).expected_ns);
    return index;
  }

  // The first entry of `own_` that does not have to wait.
  std::optional<uint32_t> PopOwnLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (Faulted()) return std::nullopt;
    const auto found =
        std::find_if(own_.begin(), own_.end(), [this](uint32_t index) {
          return Ready(program_.entries()[index], events_);
        });
    if (found == own_.end()) return std::nullopt;
    const uint32_t index = *found;
    own_.erase(found);
    return index;
  }

  void CallWorkersLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!ready_.empty() && waiting_ns_ > kWakingNs) {
      workers_.Call(static_cast<int>(
          std::min<size_t>(ready_.size(), waiting_ns_ / kWakingNs)));
    }
  }

  Program& program_;
  LaunchEvents& events_;
  Mutex mutex_;
  ConditionVariable changed_;  // a worker has done something
  std::deque<uint32_t> ready_ ABSL_GUARDED_BY(mutex_);
  std::deque<uint32_t> own_ ABSL_GUARDED_BY(mutex_);
  uint64_t waiting_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // of `ready_`
  size_t remaining_ ABSL_GUARDED_BY(mutex_) = 0;     // not finished
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool resting_ ABSL_GUARDED_BY(mutex_) = false;
  std::chrono::microseconds pause_ ABSL_GUARDED_BY(mutex_) = kShortestPause;
  WorkerPool::Helpers workers_;  // last: it ends first
};

}  // namespace

void Run(Program& program, LaunchEvents& events) {
  if (program.chain()) {
    RunChain(program, events);
  } else {
    DagRun(program, events).Run();
  }
}

}  // namespace holdfast::software
