// SPDX-License-Identifier: Apache-2.0
//
// Hands out addresses inside one part of the window; driver/backing.h and
// window.h map memory there.
//
// The base addresses are multiples of pages; sizes that are handed out are
// whole pages.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_ADDRESS_SPACE_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_ADDRESS_SPACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "core/base/free_ranges.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {

constexpr size_t kPageSize = 4096;
constexpr size_t kHugePageSize = size_t{2} << 20;

class AddressRange;

// Hands out ranges of a part of the window. Thread-safe. Knows
// addresses only, not the memory there.
class AddressSpace {
 public:
  AddressSpace(uintptr_t base, size_t size);

  // `size` and `alignment` in bytes, multiples of the page size; alignment a
  // power of two. `hint` is taken if it is not 0, aligned and free, else the
  // lowest free addresses. Null when the space has no such range. The range
  // must not outlive the space.
  std::unique_ptr<AddressRange> Reserve(size_t size, size_t alignment,
                                        uintptr_t hint);

  // The same, but without the hint the highest free addresses: for what has to
  // find its place free in another process, whatever else there was first.
  std::unique_ptr<AddressRange> ReserveHigh(size_t size, size_t alignment,
                                            uintptr_t hint);

  // Whether it lies in the space, handed out or not.
  bool Contains(uintptr_t address) const { return address - base_ < size_; }

 private:
  friend class AddressRange;

  // Takes the hint, or what `otherwise` finds.
  std::unique_ptr<AddressRange> Reserve(
      size_t size, size_t alignment, uintptr_t hint,
      std::optional<uint64_t> (FreeRanges::*otherwise)(uint64_t, uint64_t));

  // Called by the range's destructor.
  void Release(uintptr_t address, size_t size);

  const uintptr_t base_;
  const size_t size_;
  Mutex mutex_;
  FreeRanges free_ ABSL_GUARDED_BY(mutex_);
};

// A reserved range; its destructor gives it back.
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

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_ADDRESS_SPACE_H_
