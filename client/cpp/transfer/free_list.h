// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_FREE_LIST_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_FREE_LIST_H_

#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/free_ranges.h"

namespace holdfast {

// The free bytes of an arena: FreeRanges with a lock, in units of kAlignment.
// Thread-safe.
class FreeList {
 public:
  // Ranges begin at multiples of this, and take multiples of it.
  static constexpr uint64_t kAlignment = 256;

  explicit FreeList(uint64_t size) : size_(size) { free_.Add(0, size); }

  // Takes `size` bytes, not 0, and returns their offset. nullopt: no free range
  // is large enough.
  std::optional<uint64_t> Take(uint64_t size);

  // Takes back a result of Take, with the same size.
  void GiveBack(uint64_t offset, uint64_t size);

  // The bytes of the largest free range.
  uint64_t largest() const;

 private:
  uint64_t RoundUp(uint64_t size) const;

  const uint64_t size_;
  mutable absl::Mutex mutex_;
  FreeRanges free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_FREE_LIST_H_
