// SPDX-License-Identifier: Apache-2.0
#include "core/software/abi/address_space.h"

#include <optional>

#include "core/software/base/mutex.h"

namespace holdfast::software {

AddressSpace::AddressSpace(uintptr_t base, size_t size)
    : base_(base), size_(size) {
  free_.Add(base, size);
}

std::unique_ptr<AddressRange> AddressSpace::Reserve(size_t size,
                                                    size_t alignment,
                                                    uintptr_t hint) {
  return Reserve(size, alignment, hint, &FreeRanges::Take);
}

std::unique_ptr<AddressRange> AddressSpace::ReserveHigh(size_t size,
                                                        size_t alignment,
                                                        uintptr_t hint) {
  return Reserve(size, alignment, hint, &FreeRanges::TakeHighest);
}

std::optional<uint64_t> AddressSpace::TakeLocked(size_t size, size_t alignment,
                                                 uintptr_t hint,
                                                 Search otherwise) {
  const bool aligned = hint != 0 && (hint & (alignment - 1)) == 0;
  if (aligned && free_.TakeAt(hint, size)) return hint;
  if (aligned && Contains(hint) && quarantined_ > 0) {
    ShrinkQuarantineLocked(0);
    if (free_.TakeAt(hint, size)) return hint;
  }
  return (free_.*otherwise)(size, alignment);
}

std::unique_ptr<AddressRange> AddressSpace::Reserve(size_t size,
                                                    size_t alignment,
                                                    uintptr_t hint,
                                                    Search otherwise) {
  MutexLock lock(&mutex_);
  auto address = TakeLocked(size, alignment, hint, otherwise);
  if (!address && quarantined_ > 0) {
    ShrinkQuarantineLocked(0);
    address = TakeLocked(size, alignment, hint, otherwise);
  }
  if (!address) return nullptr;
  return std::unique_ptr<AddressRange>(new AddressRange(*this, *address, size));
}

void AddressSpace::Release(uintptr_t address, size_t size) {
  MutexLock lock(&mutex_);
  if (most_quarantined_ == 0) return free_.Add(address, size);
  quarantine_.emplace_back(address, size);
  quarantined_ += size;
  ShrinkQuarantineLocked(most_quarantined_);
}

void AddressSpace::Quarantine(size_t bytes) {
  MutexLock lock(&mutex_);
  most_quarantined_ = bytes;
}

void AddressSpace::ShrinkQuarantineLocked(size_t bytes) {
  while (quarantined_ > bytes) {
    const auto [address, size] = quarantine_.front();
    quarantine_.pop_front();
    quarantined_ -= size;
    free_.Add(address, size);
  }
}

}  // namespace holdfast::software
