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

std::unique_ptr<AddressRange> AddressSpace::Reserve(
    size_t size, size_t alignment, uintptr_t hint,
    std::optional<uint64_t> (FreeRanges::*otherwise)(uint64_t, uint64_t)) {
  MutexLock lock(&mutex_);
  const bool aligned = hint != 0 && (hint & (alignment - 1)) == 0;
  std::optional<uint64_t> address;
  if (aligned && free_.TakeAt(hint, size)) {
    address = hint;
  } else {
    address = (free_.*otherwise)(size, alignment);
  }
  if (!address) return nullptr;
  return std::unique_ptr<AddressRange>(new AddressRange(*this, *address, size));
}

void AddressSpace::Release(uintptr_t address, size_t size) {
  MutexLock lock(&mutex_);
  free_.Add(address, size);
}

}  // namespace holdfast::software
