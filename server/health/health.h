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

// Whether sessions can be served, from those that know to those that ask.
// Thread-safe.
class Health {
 public:
  struct View {
    // Executors can be started, at least one device is ready, and the software
    // device does not stand in for a GPU.
    bool serving = false;
    // The same for each device whose probe has had an outcome.
    std::map<uint32_t, bool> devices;
  };

  // Executors can be started, or not; at first they cannot.
  void SetExecutors(bool startable) {
    absl::MutexLock lock(&mutex_);
    startable_ = startable;
    if (watcher_) watcher_(Look());
  }

  // The device's last probe has passed, or failed.
  void SetDevice(uint32_t device, bool ready) {
    absl::MutexLock lock(&mutex_);
    devices_[device] = ready;
    if (watcher_) watcher_(Look());
  }

  // The software device serves because a GPU of this machine cannot: that is
  // not what the operator expects of --device=auto.
  void SetGpuMissing() {
    absl::MutexLock lock(&mutex_);
    gpu_missing_ = true;
    if (watcher_) watcher_(Look());
  }

  // Calls `watcher` now and at each change; nullptr ends that. Once this has
  // returned, the watcher before does not run any more.
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
