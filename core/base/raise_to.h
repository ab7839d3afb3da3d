// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_RAISE_TO_H_
#define HOLDFAST_CORE_BASE_RAISE_TO_H_

#include <atomic>
#include <cstdint>

namespace holdfast {

// Sets `counter` to `value`, unless it is greater already. Thread-safe.
inline void RaiseTo(uint64_t value, std::atomic<uint64_t>& counter) {
  uint64_t seen = counter.load(std::memory_order_relaxed);
  while (seen < value && !counter.compare_exchange_weak(
                             seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_RAISE_TO_H_
