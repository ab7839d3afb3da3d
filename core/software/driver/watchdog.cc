// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/watchdog.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"
#include "core/software/base/start_thread.h"
#include "core/software/driver/refusal.h"

namespace holdfast::software {
namespace {

using Clock = std::chrono::steady_clock;

// One thread watches all deadlines of the process. It never ends.
class Watchdog {
 public:
  static Watchdog& Get() {
    static Watchdog& watchdog = *new Watchdog;
    return watchdog;
  }

  bool Start() {
    MutexLock lock(&mutex_);
    if (started_) return true;
    auto thread = StartThread([this] { Watch(); });
    if (!thread.has_value()) {
      Refuse(CUDA_ERROR_OUT_OF_MEMORY, kNoThread);
      return false;
    }
    thread->detach();
    return started_ = true;
  }

  void Add(std::atomic<bool>* flag, Clock::time_point when) {
    MutexLock lock(&mutex_);
    deadlines_[flag] = when;
    changed_.NotifyOne();
  }

  void Remove(std::atomic<bool>* flag) {
    MutexLock lock(&mutex_);
    deadlines_.erase(flag);
  }

 private:
  [[noreturn]] void Watch() {
    MutexLock lock(&mutex_);
    while (true) {
      Clock::time_point next = Clock::time_point::max();
      for (auto it = deadlines_.begin(); it != deadlines_.end();) {
        if (it->second <= Clock::now()) {
          *it->first = true;
          it = deadlines_.erase(it);
        } else {
          next = std::min(next, it->second);
          ++it;
        }
      }
      if (next == Clock::time_point::max()) {
        changed_.Wait(&mutex_);
      } else {
        changed_.WaitUntil(&mutex_, next);
      }
    }
  }

  Mutex mutex_;
  ConditionVariable changed_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::atomic<bool>*, Clock::time_point> deadlines_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace

bool StartWatchdog(std::chrono::seconds allowed) {
  return allowed == std::chrono::seconds::zero() || Watchdog::Get().Start();
}

Deadline::Deadline(std::chrono::seconds allowed)
    : watched_(allowed > std::chrono::seconds::zero()) {
  if (watched_) Watchdog::Get().Add(&passed_, Clock::now() + allowed);
}

Deadline::~Deadline() {
  if (watched_) Watchdog::Get().Remove(&passed_);
}

}  // namespace holdfast::software
