// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/watchdog.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "absl/base/thread_annotations.h"

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
    std::lock_guard lock(mutex_);
    deadlines_[flag] = when;
    changed_.notify_one();
  }

  void Remove(std::atomic<bool>* flag) {
    std::lock_guard lock(mutex_);
    deadlines_.erase(flag);
  }

 private:
  Watchdog() {
    std::thread([this] { Watch(); }).detach();
  }

  [[noreturn]] void Watch() {
    std::unique_lock lock(mutex_);
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
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, next);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
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
