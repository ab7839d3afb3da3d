// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/memory_map.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/software/abi/window.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {

MemoryMap::Regions::const_iterator MemoryMap::FindLocked(
    uintptr_t address) const {
  auto it = regions_.upper_bound(address);
  if (it == regions_.begin()) return regions_.end();
  --it;
  return address - it->first < it->second.size ? it : regions_.end();
}

bool MemoryMap::Overlaps(uintptr_t address, size_t size) const {
  ReaderMutexLock lock(&mutex_);
  if (FindLocked(address) != regions_.end()) return true;
  const auto next = regions_.lower_bound(address);
  return next != regions_.end() && next->first - address < size;
}

bool MemoryMap::Insert(Region region) {
  WriterMutexLock lock(&mutex_);
  if (FindLocked(region.address) != regions_.end()) return false;
  const auto next = regions_.lower_bound(region.address);
  if (next != regions_.end() && next->first - region.address < region.size) {
    return false;
  }
  region.buffer_id = ++last_buffer_id_;
  region.entry = BufferEntry::Make(region.address, region.size);
  const uintptr_t address = region.address;
  regions_.emplace(address, std::move(region));
  return true;
}

std::optional<Region> MemoryMap::Find(uintptr_t address) const {
  ReaderMutexLock lock(&mutex_);
  const auto it = FindLocked(address);
  if (it == regions_.end()) return std::nullopt;
  return it->second;
}

std::optional<Region> MemoryMap::Remove(
    uintptr_t address, std::initializer_list<MemoryKind> kinds) {
  WriterMutexLock lock(&mutex_);
  const auto it = regions_.find(address);
  if (it == regions_.end() ||
      std::find(kinds.begin(), kinds.end(), it->second.kind) == kinds.end()) {
    return std::nullopt;
  }
  Region region = std::move(it->second);
  regions_.erase(it);
  return region;
}

std::vector<Region> MemoryMap::RemoveContext(uint64_t context_id) {
  std::vector<Region> removed;
  WriterMutexLock lock(&mutex_);
  for (auto it = regions_.begin(); it != regions_.end();) {
    if (it->second.context_id == context_id) {
      removed.push_back(std::move(it->second));
      it = regions_.erase(it);
    } else {
      ++it;
    }
  }
  return removed;
}

std::vector<Region> MemoryMap::Tiles(uintptr_t address, size_t size) const {
  std::vector<Region> tiles;
  ReaderMutexLock lock(&mutex_);
  const uintptr_t end = address + size;
  auto it = regions_.find(address);
  while (address != end) {
    if (it == regions_.end() || it->first != address ||
        it->second.size > end - address) {
      return {};
    }
    tiles.push_back(it->second);
    address += it->second.size;
    ++it;
  }
  return tiles;
}

bool MemoryMap::Within(uintptr_t address, size_t size,
                       std::vector<Region>* regions) const {
  ReaderMutexLock lock(&mutex_);
  const auto first = FindLocked(address);
  if (first != regions_.end() && first->first != address) return false;
  const uintptr_t end = address + size;
  for (auto it = regions_.lower_bound(address);
       it != regions_.end() && it->first < end; ++it) {
    if (it->second.size > end - it->first) return false;
    regions->push_back(it->second);
  }
  return true;
}

void MemoryMap::Advise(uintptr_t address, const cuda::MemoryAdvice& advice) {
  WriterMutexLock lock(&mutex_);
  const auto it = regions_.find(address);
  if (it != regions_.end()) it->second.advice = advice;
}

void MemoryMap::SetSyncMemops(uintptr_t address, bool has_sync_memops) {
  WriterMutexLock lock(&mutex_);
  const auto it = regions_.find(address);
  if (it != regions_.end()) it->second.has_sync_memops = has_sync_memops;
}

void MemoryMap::SetAccess(uintptr_t address, DeviceSet readers,
                          DeviceSet writers) {
  WriterMutexLock lock(&mutex_);
  const auto it = regions_.find(address);
  if (it == regions_.end()) return;
  it->second.readers = readers;
  it->second.writers = writers;
}

Location MemoryMap::Locate(uintptr_t address, size_t size,
                           Access access) const {
  if (address == 0 || address + size < address) return Location::kInvalid;
  ReaderMutexLock lock(&mutex_);
  auto it = FindLocked(address);
  if (it == regions_.end()) {
    const bool reserved = GetKernelWindow().Contains(address, 1) ||
                          GetKernelWindow().Contains(address + size - 1, 1);
    return reserved ? Location::kInvalid : Location::kPageable;
  }
  const Location found =
      IsHost(it->second.kind) ? Location::kPinned : Location::kDevice;
  const uintptr_t end = address + size;
  while (true) {
    const Region& region = it->second;
    const bool allowed =
        (access == Access::kRead ? region.readers : region.writers) != 0;
    if (!allowed) return Location::kInvalid;
    const uintptr_t region_end = region.address + region.size;
    if (end <= region_end) return found;
    ++it;
    if (it == regions_.end() || it->first != region_end) {
      return Location::kInvalid;
    }
  }
}

}  // namespace holdfast::software
