// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_MALLOC_TUNING_H_
#define HOLDFAST_CORE_BASE_MALLOC_TUNING_H_

#include <malloc.h>

#include <cstddef>
#include <cstdlib>

namespace holdfast {

// For any process, a client's too: has it keep memory that was freed, as after
// a large read from the network or a compilation, for the next one, instead of
// returning it to the system and having each page made and cleared anew: for a
// read, that costs as much as the copying. The C library adapts what it keeps
// to the largest block that it has seen freed, unless it was told otherwise, so
// it is shown one of the size that a read may have. Per arena of the C library
// at most twice as much stays.
inline void KeepFreedMemory() {
  constexpr size_t kLargestRead = size_t{8} << 20;
  void* volatile block = std::malloc(kLargestRead);
  std::free(block);
}

// For a process of our own that reads much from the network in several threads.
// Each thread of the C library's that meets another makes an arena, and arenas
// that are free for a moment go back to the system as a whole: where eight
// connections read, up to a million pages were made anew in a run of the
// benchmark. So there are few, and each keeps up to 128 MiB. To be called
// before other threads allocate.
inline void KeepFreedMemoryOfManyReads() {
  mallopt(M_ARENA_MAX, 4);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_MALLOC_TUNING_H_
