// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_FREED_MEMORY_H_
#define HOLDFAST_CORE_BASE_FREED_MEMORY_H_

#include <cstddef>
#include <cstdlib>

namespace holdfast {

// Has the process keep memory that was freed, as after a large read from the
// network or a compilation, for the next one, instead of returning it to the
// system and having each page made and cleared anew: for a read, that costs as
// much as the copying. The C library adapts what it keeps to the largest block
// that it has seen freed, unless it was told otherwise, so it is shown one of
// the size that a read may have. Per arena of the C library at most twice as
// much stays.
inline void KeepFreedMemory() {
  constexpr size_t kLargestRead = size_t{8} << 20;
  void* volatile block = std::malloc(kLargestRead);
  std::free(block);
}

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_FREED_MEMORY_H_
