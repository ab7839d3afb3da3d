// SPDX-License-Identifier: Apache-2.0
#include "server/executor/submission/device_clocks.h"

#include <algorithm>

namespace holdfast::executor {
namespace {

// Between these, a piece of work has the right size.
constexpr uint64_t kShortPiece = 1'000'000;  // ns
constexpr uint64_t kLongPiece = 2'500'000;

}  // namespace

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
    Device& clock = devices_[device];
    clock.unmarked = false;
    clock.watched = true;
    clock.marked_commands = std::exchange(clock.commands, 0);
    clock.marked_at = DeviceTimes::Now();
  }
  return std::exchange(to_mark_, {});
}

void DeviceClocks::AdaptPiece(uint64_t took, Device* device) {
  if (device->marked_commands == 0) return;
  if (took > kLongPiece) {
    device->piece = std::max(device->piece / 2, uint32_t{1});
  } else if (took < kShortPiece && device->marked_commands >= device->piece) {
    device->piece = std::min(device->piece * 2, kLargestPiece);
  }
}

DeviceClocks::Next DeviceClocks::NoteDone(uint32_t device) {
  absl::MutexLock lock(&mutex_);
  Device& clock = devices_[device];
  const uint64_t now = DeviceTimes::Now();
  AdaptPiece(now - clock.marked_at, &clock);
  clock.watched = false;
  if (clock.unmarked) {
    to_mark_.push_back(device);
  } else {
    times_->End(device, now);
  }
  return {.mark = clock.unmarked, .place = std::exchange(clock.wanted, false)};
}

bool DeviceClocks::TakePlace(uint32_t device) {
  absl::MutexLock lock(&mutex_);
  Device& clock = devices_[device];
  if (!clock.watched && !clock.unmarked) clock.commands = 0;
  clock.wanted = clock.commands >= clock.piece;
  if (clock.wanted) return false;
  ++clock.commands;
  return true;
}

}  // namespace holdfast::executor
