// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_RESERVATIONS_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_RESERVATIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "core/software/abi/address_space.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {

// The ranges of addresses that the application has reserved
// (cuMemAddressReserve). The ranges do not overlap. Thread-safe.
class Reservations {
 public:
  // Adds a range, and owns it until Remove.
  void Add(std::unique_ptr<AddressRange> range);
  // Removes and returns the range; null unless exactly this range is reserved.
  std::unique_ptr<AddressRange> Remove(uintptr_t address, size_t size);
  // Returns true if the bytes lie in one reserved range.
  bool Contains(uintptr_t address, size_t size) const;

 private:
  mutable Mutex mutex_;
  std::map<uintptr_t, std::unique_ptr<AddressRange>> ranges_
      ABSL_GUARDED_BY(mutex_);  // by address
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_RESERVATIONS_H_
