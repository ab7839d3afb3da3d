// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/address_space.h"

#include <iterator>

#include "core/software/base/mutex.h"

namespace holdfast::software {

AddressSpace::AddressSpace(uintptr_t base, size_t size)
    : base_(base), size_(size) {
  if (size > 0) free_.emplace(base, size);
}

std::unique_ptr<AddressRange> AddressSpace::Reserve(size_t size,
                                                    size_t alignment,
                                                    uintptr_t hint) {
  if (size == 0 || size > size_) return nullptr;
  MutexLock lock(&mutex_);
  uintptr_t address = hint;
  const bool aligned = hint != 0 && (hint & (alignment - 1)) == 0;
  if (!aligned || !TakeLocked(address, size)) {
    address = FindLocked(size, alignment);
    if (address == 0 || !TakeLocked(address, size)) return nullptr;
  }
  return std::unique_ptr<AddressRange>(new AddressRange(*this, address, size));
}

bool AddressSpace::TakeLocked(uintptr_t address, size_t size) {
  auto it = free_.upper_bound(address);
  if (it == free_.begin()) return false;
  --it;
  const uintptr_t start = it->first;
  const size_t length = it->second;
  if (address - start > length || length - (address - start) < size) {
    return false;
  }
  free_.erase(it);
  const uintptr_t end = address + size;
  if (address > start) free_.emplace(start, address - start);
  if (start + length > end) free_.emplace(end, start + length - end);
  return true;
}

uintptr_t AddressSpace::FindLocked(size_t size, size_t alignment) const {
  for (const auto& [start, length] : free_) {
    const size_t skip = -start & (alignment - 1);
    if (skip <= length && length - skip >= size) return start + skip;
  }
  return 0;
}

void AddressSpace::Release(uintptr_t address, size_t size) {
  MutexLock lock(&mutex_);
  auto next = free_.lower_bound(address);
  if (next != free_.end() && address + size == next->first) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == address) {
      before->second += size;
      return;
    }
  }
  free_.emplace(address, size);
}

}  // namespace holdfast::software
