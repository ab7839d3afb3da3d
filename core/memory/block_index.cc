// SPDX-License-Identifier: Apache-2.0
#include "core/memory/block_index.h"

#include <iterator>

namespace holdfast::memory {

void BlockIndex::AddSpan(uint32_t span, uint64_t size) {
  spans_[span] = size;
  Insert({span, 0}, size);
}

void BlockIndex::RemoveSpan(uint32_t span) {
  Erase(free_.find({span, 0}));
  spans_.erase(span);
}

std::optional<Block> BlockIndex::Allocate(uint64_t size) {
  const auto fit = by_size_.lower_bound({size, Place{0, 0}});
  if (fit == by_size_.end()) return std::nullopt;
  const Place place = fit->second;
  Cut(free_.find(place), 0, size);
  return Block{place.first, place.second, size};
}

bool BlockIndex::AllocateAt(const Block& block) {
  auto it = free_.upper_bound({block.span, block.offset});
  if (it == free_.begin()) return false;
  --it;
  const auto& [place, size] = *it;
  if (place.first != block.span) return false;
  const uint64_t skip = block.offset - place.second;
  if (skip > size || block.size > size - skip) return false;
  Cut(it, skip, block.size);
  return true;
}

void BlockIndex::Free(const Block& block) {
  Place place{block.span, block.offset};
  uint64_t size = block.size;
  auto next = free_.lower_bound(place);
  if (next != free_.end() && next->first.first == block.span &&
      next->first.second == block.offset + block.size) {
    size += next->second;
    const auto merged = next++;
    Erase(merged);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first.first == block.span &&
        previous->first.second + previous->second == block.offset) {
      place = previous->first;
      size += previous->second;
      Erase(previous);
    }
  }
  Insert(place, size);
}

bool BlockIndex::IsFree(uint32_t span) const {
  const auto size = spans_.find(span);
  const auto block = free_.find({span, 0});
  return size != spans_.end() && block != free_.end() &&
         block->second == size->second;
}

uint64_t BlockIndex::largest_free() const {
  return by_size_.empty() ? 0 : by_size_.rbegin()->first;
}

void BlockIndex::Insert(Place place, uint64_t size) {
  free_[place] = size;
  by_size_.insert({size, place});
  free_bytes_ += size;
}

void BlockIndex::Erase(std::map<Place, uint64_t>::iterator it) {
  free_bytes_ -= it->second;
  by_size_.erase({it->second, it->first});
  free_.erase(it);
}

void BlockIndex::Cut(std::map<Place, uint64_t>::iterator it, uint64_t skip,
                     uint64_t size) {
  const auto [place, whole] = *it;
  Erase(it);
  if (skip > 0) Insert(place, skip);
  const uint64_t rest = whole - skip - size;
  if (rest > 0) Insert({place.first, place.second + skip + size}, rest);
}

}  // namespace holdfast::memory
