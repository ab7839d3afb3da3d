// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HEALTH_H_
#define HOLDFAST_SERVER_HEALTH_H_

#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// Whether sessions can be served, from those who know to those who ask; at
// first they cannot. Thread-safe.
class Health {
 public:
  void Set(bool serving) {
    absl::MutexLock lock(&mutex_);
    serving_ = serving;
    if (watcher_) watcher_(serving);
  }

  // Calls `watcher` now and at each Set; nullptr ends that. Once this has
  // returned, the watcher before does not run any more.
  void Watch(std::function<void(bool)> watcher) {
    absl::MutexLock lock(&mutex_);
    watcher_ = std::move(watcher);
    if (watcher_) watcher_(serving_);
  }

 private:
  absl::Mutex mutex_;
  bool serving_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void(bool)> watcher_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_H_
