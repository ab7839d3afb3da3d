// SPDX-License-Identifier: Apache-2.0
#include "core/base/free_ranges.h"

#include <algorithm>
#include <iterator>

namespace holdfast {

void FreeRanges::Add(uint64_t start, uint64_t size) {
  if (size == 0) return;
  auto next = free_.lower_bound(start);
  if (next != free_.end() && start + size == next->first) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == start) {
      before->second += size;
      return;
    }
  }
  free_.emplace(start, size);
}

std::optional<uint64_t> FreeRanges::Take(uint64_t size, uint64_t alignment) {
  if (size == 0) return std::nullopt;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [start, length] = *it;
    const uint64_t skip = -start & (alignment - 1);
    if (skip > length || length - skip < size) continue;
    Cut(it, start + skip, size);
    return start + skip;
  }
  return std::nullopt;
}

std::optional<uint64_t> FreeRanges::TakeHighest(uint64_t size,
                                                uint64_t alignment) {
  if (size == 0) return std::nullopt;
  for (auto it = free_.rbegin(); it != free_.rend(); ++it) {
    const auto [start, length] = *it;
    if (length < size) continue;
    const uint64_t place = (start + length - size) & ~(alignment - 1);
    if (place < start) continue;
    Cut(std::prev(it.base()), place, size);
    return place;
  }
  return std::nullopt;
}

bool FreeRanges::TakeAt(uint64_t start, uint64_t size) {
  auto it = free_.upper_bound(start);
  if (size == 0 || it == free_.begin()) return false;
  --it;
  const uint64_t skip = start - it->first;
  if (skip > it->second || it->second - skip < size) return false;
  Cut(it, start, size);
  return true;
}

uint64_t FreeRanges::largest() const {
  uint64_t largest = 0;
  for (const auto& [start, size] : free_) largest = std::max(largest, size);
  return largest;
}

void FreeRanges::Cut(std::map<uint64_t, uint64_t>::iterator it, uint64_t start,
                     uint64_t size) {
  const auto [first, length] = *it;
  free_.erase(it);
  if (start > first) free_.emplace(first, start - first);
  const uint64_t rest = length - (start - first) - size;
  if (rest > 0) free_.emplace(start + size, rest);
}

}  // namespace holdfast
