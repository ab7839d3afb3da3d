// SPDX-License-Identifier: Apache-2.0
//
// Reserves addresses in one part of the window (window.h), for driver/backing.h
// and window.h, which map memory there.
//
// All base addresses and sizes are multiples of the page size.
#ifndef HOLDFAST_CORE_SOFTWARE_ABI_ADDRESS_SPACE_H_
#define HOLDFAST_CORE_SOFTWARE_ABI_ADDRESS_SPACE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "core/base/free_ranges.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {

constexpr size_t kPageSize = 4096;
constexpr size_t kHugePageSize = size_t{2} << 20;

class AddressRange;

// Reserves ranges of addresses. Does not map memory. Thread-safe.
class AddressSpace {
 public:
  AddressSpace(uintptr_t base, size_t size);

  // Reserves `size` bytes at `hint`, if `hint` is not 0, aligned and free;
  // otherwise at the lowest free addresses. `size` and `alignment` are in bytes
  // and multiples of the page size; `alignment` is a power of two. Returns null
  // if there is no such range. REQUIRES: the space outlives the range.
  std::unique_ptr<AddressRange> Reserve(size_t size, size_t alignment,
                                        uintptr_t hint);

  // Does the same as Reserve, but takes the highest free addresses instead of
  // the lowest. Used for ranges that must be free at the same addresses in
  // another process.
  std::unique_ptr<AddressRange> ReserveHigh(size_t size, size_t alignment,
                                            uintptr_t hint);

  // Makes the space keep released ranges in quarantine: it does not reserve the
  // ranges again that were released last, up to `bytes` together. A call of
  // Reserve that finds no other addresses, or whose hint is not free, ends the
  // quarantine of all ranges that were released before.
  void Quarantine(size_t bytes);

  // Returns true if the address lies in the space, reserved or not.
  bool Contains(uintptr_t address) const { return address - base_ < size_; }

 private:
  friend class AddressRange;

  using Search = std::optional<uint64_t> (FreeRanges::*)(uint64_t, uint64_t);

  // Takes the hint, or the range that `otherwise` finds.
  std::unique_ptr<AddressRange> Reserve(size_t size, size_t alignment,
                                        uintptr_t hint, Search otherwise);
  std::optional<uint64_t> TakeLocked(size_t size, size_t alignment,
                                     uintptr_t hint, Search otherwise)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Frees the oldest ranges in quarantine until `bytes` are left.
  void ShrinkQuarantineLocked(size_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Frees a range. Called by the range's destructor.
  void Release(uintptr_t address, size_t size);

  const uintptr_t base_;
  const size_t size_;
  Mutex mutex_;
  FreeRanges free_ ABSL_GUARDED_BY(mutex_);
  size_t most_quarantined_ ABSL_GUARDED_BY(mutex_) = 0;  // bytes
  // The ranges in quarantine, the oldest first, and their bytes.
  std::deque<std::pair<uintptr_t, size_t>> quarantine_ ABSL_GUARDED_BY(mutex_);
  size_t quarantined_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A reserved range of addresses; its destructor frees it.
class AddressRange {
 public:
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;
  ~AddressRange() { space_.Release(address_, size_); }

  uintptr_t address() const { return address_; }
  size_t size() const { return size_; }

 private:
  friend class AddressSpace;
  AddressRange(AddressSpace& space, uintptr_t address, size_t size)
      : space_(space), address_(address), size_(size) {}

  AddressSpace& space_;
  const uintptr_t address_;
  const size_t size_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_ABI_ADDRESS_SPACE_H_
