// SPDX-License-Identifier: Apache-2.0
//
// The addresses that arenas have: in the client, in the session's executor and
// on its devices, so that one number means the same memory everywhere.
//
// The range lies where nothing else does by default. Linux places programs, at
// most 16 TiB of random addresses up, below 0x655555554000, and maps memory
// from the stack down, which it begins at most 16 TiB below 0x800000000000; the
// memory of devices begins at 0x600000000000 (server/executor/resources). The
// software driver has the range in its window (core/software/runtime/window.h).
#ifndef HOLDFAST_CORE_BASE_ARENA_RANGE_H_
#define HOLDFAST_CORE_BASE_ARENA_RANGE_H_

#include <cstddef>
#include <cstdint>

namespace holdfast {

inline constexpr uintptr_t kArenaRangeBase = 0x6800'0000'0000;
inline constexpr size_t kArenaRangeBytes = size_t{1} << 41;
// Arenas begin at multiples of this, where huge pages can.
inline constexpr size_t kArenaAlignment = size_t{2} << 20;

// Do all of the bytes lie in the range? None do not.
inline constexpr bool IsInArenaRange(uintptr_t address, size_t size) {
  return size > 0 && size <= kArenaRangeBytes &&
         address - kArenaRangeBase <= kArenaRangeBytes - size;
}

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_ARENA_RANGE_H_
