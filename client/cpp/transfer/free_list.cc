// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/free_list.h"

#include <algorithm>
#include <iterator>

namespace holdfast {

// A size larger than everything stays so, instead of overflowing.
uint64_t FreeList::RoundUp(uint64_t size) const {
  if (size > size_) return size;
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

std::optional<uint64_t> FreeList::Take(uint64_t size) {
  size = RoundUp(size);
  absl::MutexLock lock(&mutex_);
  const auto fits = [size](const auto& place) { return place.second >= size; };
  const auto found = std::find_if(free_.begin(), free_.end(), fits);
  if (found == free_.end()) return std::nullopt;
  const auto [offset, available] = *found;
  free_.erase(found);
  if (available > size) free_[offset + size] = available - size;
  return offset;
}

void FreeList::GiveBack(uint64_t offset, uint64_t size) {
  size = RoundUp(size);
  absl::MutexLock lock(&mutex_);
  auto after = free_.lower_bound(offset);
  if (after != free_.end() && after->first == offset + size) {
    size += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  free_[offset] = size;
}

uint64_t FreeList::largest() const {
  absl::MutexLock lock(&mutex_);
  uint64_t largest = 0;
  for (const auto& [offset, size] : free_) largest = std::max(largest, size);
  return largest;
}

}  // namespace holdfast
