// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/free_list.h"

namespace holdfast {

// A size larger than everything stays so, instead of overflowing.
uint64_t FreeList::RoundUp(uint64_t size) const {
  if (size > size_) return size;
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

std::optional<uint64_t> FreeList::Take(uint64_t size) {
  absl::MutexLock lock(&mutex_);
  return free_.Take(RoundUp(size));
}

void FreeList::GiveBack(uint64_t offset, uint64_t size) {
  absl::MutexLock lock(&mutex_);
  free_.Add(offset, RoundUp(size));
}

uint64_t FreeList::largest() const {
  absl::MutexLock lock(&mutex_);
  return free_.largest();
}

}  // namespace holdfast
