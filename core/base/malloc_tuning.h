// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_MALLOC_TUNING_H_
#define HOLDFAST_CORE_BASE_MALLOC_TUNING_H_

#include <malloc.h>

#include <cstddef>
#include <cstdlib>

namespace holdfast {

// Makes this process keep freed memory, for example of a large network read or
// a compilation, for the next use, instead of returning it to the system.
// Otherwise the kernel makes and clears each page again, which takes as long as
// copying the data. The C library adapts its thresholds to the largest block
// that was freed, so this function frees a block of the size of a large read.
// Each arena of the C library then keeps at most twice this size. Safe in any
// process, also a client's.
inline void KeepFreedMemory() {
  constexpr size_t kLargestRead = size_t{8} << 20;
  void* volatile block = std::malloc(kLargestRead);
  std::free(block);
}

// Limits malloc to few arenas that keep up to 128 MiB each, for a process of
// Holdfast that reads much from the network in several threads. Otherwise the C
// library makes an arena for each thread that finds the others in use, and
// returns an arena's memory to the system when it is unused for a moment: with
// eight connections, the kernel made up to a million pages again in a benchmark
// run. REQUIRES: no other thread has allocated yet.
inline void KeepFreedMemoryOfManyReads() {
  mallopt(M_ARENA_MAX, 4);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_MALLOC_TUNING_H_
