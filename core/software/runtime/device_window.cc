// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include "core/software/runtime/executable.h"

namespace holdfast::software {
namespace {

// A process whose addresses are limited or laid out otherwise (ulimit -v,
// ThreadSanitizer) gets what there is.
constexpr size_t kWindowBytes = size_t{1} << 40;
constexpr size_t kLeastWindowBytes = size_t{1} << 34;

// The same place in every process, if it is free, so that a successor can map
// what an executor left behind at the addresses that it had.
constexpr uintptr_t kPreferredBase = 0x7e80'0000'0000;

DeviceWindow Reserve() {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* base = mmap(reinterpret_cast<void*>(kPreferredBase), kWindowBytes,
                    PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
  if (base != MAP_FAILED) {
    return {reinterpret_cast<uintptr_t>(base), kWindowBytes};
  }
  for (size_t size = kWindowBytes; size >= kLeastWindowBytes; size /= 2) {
    base = mmap(nullptr, size, PROT_NONE, kFlags, -1, 0);
    if (base != MAP_FAILED) return {reinterpret_cast<uintptr_t>(base), size};
  }
  return {};
}

}  // namespace

const DeviceWindow& GetDeviceWindow() {
  static const DeviceWindow window = Reserve();
  return window;
}

}  // namespace holdfast::software
