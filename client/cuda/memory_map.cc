// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/memory_map.h"

#include <sys/mman.h>

#include <iterator>
#include <utility>

namespace holdfast::libcuda {

Allocation::~Allocation() {
  if (pool != nullptr) pool->Return(size);
  if (mapped != nullptr) munmap(mapped, size);
}

void MemoryMap::Add(std::shared_ptr<Allocation> allocation) {
  absl::MutexLock lock(&mutex_);
  allocation->id = ++last_id_;
  allocations_[allocation->address] = std::move(allocation);
}

std::shared_ptr<Allocation> MemoryMap::Find(uint64_t address) const {
  absl::ReaderMutexLock lock(&mutex_);
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  const auto& [begin, allocation] = *std::prev(after);
  return address - begin < allocation->size ? allocation : nullptr;
}

std::shared_ptr<Allocation> MemoryMap::Remove(
    uint64_t address, absl::FunctionRef<bool(const Allocation&)> accepts) {
  absl::MutexLock lock(&mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || !accepts(*found->second)) return nullptr;
  std::shared_ptr<Allocation> allocation = std::move(found->second);
  allocations_.erase(found);
  return allocation;
}

std::vector<std::shared_ptr<Allocation>> MemoryMap::RemoveIf(
    absl::FunctionRef<bool(const Allocation&)> ended) {
  std::vector<std::shared_ptr<Allocation>> removed;
  absl::MutexLock lock(&mutex_);
  std::erase_if(allocations_, [&](auto& entry) {
    if (!ended(*entry.second)) return false;
    removed.push_back(std::move(entry.second));
    return true;
  });
  return removed;
}

}  // namespace holdfast::libcuda
