// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HEALTH_HEALTH_H_
#define HOLDFAST_SERVER_HEALTH_HEALTH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// The daemon's ability to serve sessions, as its parts report it and its
// servers publish it. Thread-safe.
class Health {
 public:
  struct View {
    // True if executors can be started, at least one device is ready, and the
    // software device does not stand in for a GPU.
    bool serving = false;
    // For each device that was probed: true if executors can be started and the
    // device is ready.
    std::map<uint32_t, bool> devices;
  };

  // Sets whether executors can be started. Initially they cannot be started.
  void SetExecutors(bool startable) {
    absl::MutexLock lock(&mutex_);
    startable_ = startable;
    if (watcher_) watcher_(Look());
  }

  // Sets whether the device's last probe has passed.
  void SetDevice(uint32_t device, bool ready) {
    absl::MutexLock lock(&mutex_);
    devices_[device] = ready;
    if (watcher_) watcher_(Look());
  }

  // Notes that the software device is used although the machine has a GPU. An
  // operator with --device=auto does not expect that.
  void SetGpuMissing() {
    absl::MutexLock lock(&mutex_);
    gpu_missing_ = true;
    if (watcher_) watcher_(Look());
  }

  // Calls `watcher` now and at each change; null: stops calling. Replaces the
  // previous watcher, which does not run any more when Watch returns. The
  // watcher runs under the lock, so it must not call this object.
  void Watch(std::function<void(const View&)> watcher) {
    absl::MutexLock lock(&mutex_);
    watcher_ = std::move(watcher);
    if (watcher_) watcher_(Look());
  }

 private:
  View Look() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    View view;
    for (const auto& [device, ready] : devices_) {
      view.devices[device] = startable_ && ready;
      view.serving = view.serving || view.devices[device];
    }
    view.serving = view.serving && !gpu_missing_;
    return view;
  }

  absl::Mutex mutex_;
  bool startable_ ABSL_GUARDED_BY(mutex_) = false;
  bool gpu_missing_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<uint32_t, bool> devices_ ABSL_GUARDED_BY(mutex_);
  std::function<void(const View&)> watcher_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_HEALTH_H_
