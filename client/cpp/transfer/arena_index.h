// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_ARENA_INDEX_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_ARENA_INDEX_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

class Arena;

// The arenas of all sessions of this process, by their addresses here. A launch
// looks up its 64-bit arguments in it. Thread-safe.
class ArenaIndex {
 public:
  // The process's index.
  static ArenaIndex& Get();

  // Add and remove the arena that begins at `address`. REQUIRES: arenas do not
  // overlap, and Remove is called before the memory is unmapped.
  void Add(uint64_t address, uint64_t size, std::weak_ptr<const Arena> arena);
  void Remove(uint64_t address);

  // Returns false only if the address lies in no arena. Costs two comparisons,
  // since it runs for every 64-bit argument of every launch.
  bool MayContain(uint64_t address) const {
    return address >= begin_.load(std::memory_order_relaxed) &&
           address < end_.load(std::memory_order_relaxed);
  }
  // Returns the arena that contains the address, or null.
  std::shared_ptr<const Arena> Find(uint64_t address) const;

 private:
  struct Entry {
    uint64_t end = 0;
    std::weak_ptr<const Arena> arena;
  };

  mutable absl::Mutex mutex_;
  std::map<uint64_t, Entry> by_address_ ABSL_GUARDED_BY(mutex_);
  // Bounds of all arenas so far.
  std::atomic<uint64_t> begin_{UINT64_MAX};
  std::atomic<uint64_t> end_{0};
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_ARENA_INDEX_H_
