// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_HANDLE_VALUE_H_
#define HOLDFAST_CORE_CUDA_HANDLE_VALUE_H_

#include <atomic>
#include <cstdint>

namespace holdfast::cuda {

// Returns a number that no handle of any kind has had before in this driver, so
// that a stale handle, or a handle of another kind, names nothing. Small
// numbers are not used, because they may have a meaning (CU_STREAM_LEGACY).
// Thread-safe.
inline uint64_t NewHandleValue() {
  static std::atomic<uint64_t> next{0x10000};
  return next.fetch_add(0x10, std::memory_order_relaxed);
}

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_HANDLE_VALUE_H_
