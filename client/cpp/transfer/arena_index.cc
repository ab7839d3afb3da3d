// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/arena_index.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast {

ArenaIndex& ArenaIndex::Get() {
  // Never destroyed: arenas may end after everything else.
  static ArenaIndex& index = *new ArenaIndex;
  return index;
}

void ArenaIndex::Add(uint64_t address, uint64_t size,
                     std::weak_ptr<const Arena> arena) {
  absl::MutexLock lock(&mutex_);
  by_address_[address] = {address + size, std::move(arena)};
  begin_ = std::min(begin_.load(), address);
  end_ = std::max(end_.load(), address + size);
}

void ArenaIndex::Remove(uint64_t address) {
  absl::MutexLock lock(&mutex_);
  by_address_.erase(address);
}

std::shared_ptr<const Arena> ArenaIndex::Find(uint64_t address) const {
  absl::MutexLock lock(&mutex_);
  const auto behind = by_address_.upper_bound(address);
  if (behind == by_address_.begin()) return nullptr;
  const Entry& entry = std::prev(behind)->second;
  return address < entry.end ? entry.arena.lock() : nullptr;
}

}  // namespace holdfast
