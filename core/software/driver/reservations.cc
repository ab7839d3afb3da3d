// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/reservations.h"

#include <iterator>
#include <utility>

namespace holdfast::software {

void Reservations::Add(std::unique_ptr<AddressRange> range) {
  MutexLock lock(&mutex_);
  const uintptr_t address = range->address();
  ranges_[address] = std::move(range);
}

std::unique_ptr<AddressRange> Reservations::Remove(uintptr_t address,
                                                   size_t size) {
  MutexLock lock(&mutex_);
  const auto found = ranges_.find(address);
  if (found == ranges_.end() || found->second->size() != size) return nullptr;
  std::unique_ptr<AddressRange> range = std::move(found->second);
  ranges_.erase(found);
  return range;
}

bool Reservations::Contains(uintptr_t address, size_t size) const {
  MutexLock lock(&mutex_);
  const auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return false;
  const AddressRange& range = *std::prev(next)->second;
  const size_t offset = address - range.address();
  return offset < range.size() && size <= range.size() - offset;
}

}  // namespace holdfast::software
