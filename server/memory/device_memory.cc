// SPDX-License-Identifier: Apache-2.0
#include "server/memory/device_memory.h"

#include <algorithm>

namespace holdfast {
namespace {

uint64_t Less(uint64_t value, uint64_t by) {
  return value - std::min(value, by);
}

}  // namespace

void DeviceMemory::NoteMeasured(uint32_t device, uint64_t free,
                                uint64_t total) {
  absl::MutexLock lock(&mutex_);
  Entry& entry = devices_[device];
  entry.measured = true;
  entry.total = total;
  entry.free = free;
  entry.taken_then = entry.taken;
}

void DeviceMemory::NoteTaken(uint32_t device, uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  devices_[device].taken += bytes;
}

void DeviceMemory::NoteReturned(uint32_t device, uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  Entry& entry = devices_[device];
  entry.taken = Less(entry.taken, bytes);
}

std::optional<uint64_t> DeviceMemory::Free(uint32_t device) const {
  absl::MutexLock lock(&mutex_);
  const auto it = devices_.find(device);
  if (it == devices_.end() || !it->second.measured) return std::nullopt;
  const Entry& entry = it->second;
  const uint64_t since = Less(entry.free + entry.taken_then, entry.taken);
  return std::min(since, Less(entry.total, entry.taken));
}

}  // namespace holdfast
