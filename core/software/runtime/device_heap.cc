// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/device_heap.h"

#include <optional>

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

void DeviceHeap::Clear() {
  MutexLock lock(&mutex_);
  memory_.reset();
  free_ = FreeRanges();
  used_.clear();
  freed_.clear();
  bytes_ = kFirstBytes;
}

// At first use; a heap of nothing, or without memory, stays empty.
bool DeviceHeap::Map() {
  if (memory_ != nullptr) return true;
  memory_ = WindowMemory::Map(bytes_);
  if (memory_ == nullptr) return false;
  free_.Add(reinterpret_cast<uintptr_t>(memory_->data()), bytes_);
  return true;
}

void* DeviceHeap::Allocate(size_t bytes) {
  MutexLock lock(&mutex_);
  if (bytes == 0 || bytes > bytes_ || !Map()) return nullptr;
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::optional<uint64_t> address = free_.Take(bytes);
  if (!address) return nullptr;
  used_[*address] = bytes;
  freed_.erase(freed_.lower_bound(*address),
               freed_.lower_bound(*address + bytes));
  return reinterpret_cast<void*>(*address);
}

bool DeviceHeap::Free(void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  MutexLock lock(&mutex_);
  auto used = used_.find(address);
  if (used == used_.end()) return freed_.count(address) == 0;
  free_.Add(used->first, used->second);
  used_.erase(used);
  freed_.insert(address);
  return true;
}

}  // namespace holdfast::software
