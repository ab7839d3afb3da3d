// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/device_heap.h"

#include "core/software/base/mutex.h"

namespace holdfast::software {
namespace {

constexpr size_t kAlignment = 16;

}  // namespace

DeviceHeap& DeviceHeap::Get() {
  static auto& heap = *new DeviceHeap;
  return heap;
}

bool DeviceHeap::SetLimit(size_t bytes) {
  MutexLock lock(&mutex_);
  if (memory_ != nullptr) return false;
  bytes_ = bytes;
  return true;
}

// At first use; a heap of nothing, or without memory, stays empty.
bool DeviceHeap::Map() {
  if (memory_ != nullptr) return true;
  memory_ = WindowMemory::Map(bytes_);
  if (memory_ == nullptr) return false;
  free_[reinterpret_cast<uintptr_t>(memory_->data())] = bytes_;
  return true;
}

void* DeviceHeap::Allocate(size_t bytes) {
  MutexLock lock(&mutex_);
  if (bytes == 0 || bytes > bytes_ || !Map()) return nullptr;
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [address, size] = *it;
    if (size < bytes) continue;
    free_.erase(it);
    if (size > bytes) free_[address + bytes] = size - bytes;
    used_[address] = bytes;
    return reinterpret_cast<void*>(address);
  }
  return nullptr;
}

void DeviceHeap::Free(void* pointer) {
  MutexLock lock(&mutex_);
  auto used = used_.find(reinterpret_cast<uintptr_t>(pointer));
  if (used == used_.end()) return;
  auto it = free_.emplace(*used).first;
  used_.erase(used);
  if (auto next = std::next(it);
      next != free_.end() && it->first + it->second == next->first) {
    it->second += next->second;
    free_.erase(next);
  }
  if (it == free_.begin()) return;
  auto before = std::prev(it);
  if (before->first + before->second != it->first) return;
  before->second += it->second;
  free_.erase(it);
}

}  // namespace holdfast::software
