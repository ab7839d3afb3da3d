// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/watchdog.h"

#include <algorithm>
#include <map>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {
namespace {

using Clock = std::chrono::steady_clock;

// One thread watches all deadlines of the process. It is started by the first
// and never ends.
class Watchdog {
 public:
  static Watchdog& Get() {
    static Watchdog& watchdog = *new Watchdog;
    return watchdog;
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
  Watchdog() {
    std::thread([this] { Watch(); }).detach();
  }

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
  std::map<std::atomic<bool>*, Clock::time_point> deadlines_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace

Deadline::Deadline(std::chrono::seconds allowed)
    : watched_(allowed > std::chrono::seconds::zero()) {
  if (watched_) Watchdog::Get().Add(&passed_, Clock::now() + allowed);
}

Deadline::~Deadline() {
  if (watched_) Watchdog::Get().Remove(&passed_);
}

}  // namespace holdfast::software
