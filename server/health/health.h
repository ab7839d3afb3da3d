// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HEALTH_HEALTH_H_
#define HOLDFAST_SERVER_HEALTH_HEALTH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
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
    // Why it is not serving, in words for an operator; "" if it is. Static.
    const char* obstacle = "";
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
      view.devices[device] = startable_.value_or(false) && ready;
      view.serving = view.serving || view.devices[device];
    }
    view.serving = view.serving && !gpu_missing_;
    if (!view.serving) view.obstacle = Obstacle();
    return view;
  }

  // REQUIRES: not serving.
  const char* Obstacle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!startable_.has_value()) return "the first executor is not started yet";
    if (!*startable_) return "no executor can be started; the log says why";
    if (devices_.empty()) return "no device is probed yet";
    if (gpu_missing_) {
      return "the software device stands in for a GPU that does not work; the "
             "log says why";
    }
    return "no device works; `holdfast devices` says why";
  }

  absl::Mutex mutex_;
  // nullopt: SetExecutors was not called yet.
  std::optional<bool> startable_ ABSL_GUARDED_BY(mutex_);
  bool gpu_missing_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<uint32_t, bool> devices_ ABSL_GUARDED_BY(mutex_);
  std::function<void(const View&)> watcher_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_HEALTH_H_
