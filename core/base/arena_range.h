// SPDX-License-Identifier: Apache-2.0
//
// The range of addresses for arenas, which are memory that a client shares with
// the executor of its session. The range is the same in the client, in the
// executor and on the session's devices, so an address in it means the same
// memory everywhere.
//
// By default nothing else lies in the range. Linux places programs below
// 0x655555554000, at a random address up to 16 TiB further down, and maps
// memory downwards from the stack, which starts at most 16 TiB below
// 0x800000000000. Device memory begins at 0x600000000000
// (server/executor/resources). In the software driver, the range lies in its
// window (core/software/abi/window.h).
#ifndef HOLDFAST_CORE_BASE_ARENA_RANGE_H_
#define HOLDFAST_CORE_BASE_ARENA_RANGE_H_

#include <cstddef>
#include <cstdint>

namespace holdfast {

inline constexpr uintptr_t kArenaRangeBase = 0x6800'0000'0000;
inline constexpr size_t kArenaRangeBytes = size_t{1} << 41;
// The alignment of arenas, which allows huge pages.
inline constexpr size_t kArenaAlignment = size_t{2} << 20;

// Returns true if [address, address + size) lies in the range and `size` is not
// 0.
inline constexpr bool IsInArenaRange(uintptr_t address, size_t size) {
  return size > 0 && size <= kArenaRangeBytes &&
         address - kArenaRangeBase <= kArenaRangeBytes - size;
}

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_ARENA_RANGE_H_
