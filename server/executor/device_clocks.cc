// SPDX-License-Identifier: Apache-2.0
#include "server/executor/device_clocks.h"

namespace holdfast::executor {

void DeviceClocks::NoteGiven(uint32_t device) {
  if (device >= DeviceTimes::kMaxDevices) return;
  absl::MutexLock lock(&mutex_);
  Device& clock = devices_[device];
  if (clock.unmarked) return;
  clock.unmarked = true;
  if (clock.watched) return;
  times_->Begin(device, DeviceTimes::Now());
  to_mark_.push_back(device);
}

std::vector<uint32_t> DeviceClocks::TakeUnmarked() {
  absl::MutexLock lock(&mutex_);
  for (const uint32_t device : to_mark_) {
    devices_[device] = {.unmarked = false, .watched = true};
  }
  return std::exchange(to_mark_, {});
}

bool DeviceClocks::NoteDone(uint32_t device) {
  absl::MutexLock lock(&mutex_);
  Device& clock = devices_[device];
  clock.watched = false;
  if (!clock.unmarked) {
    times_->End(device, DeviceTimes::Now());
    return false;
  }
  to_mark_.push_back(device);
  return true;
}

}  // namespace holdfast::executor
