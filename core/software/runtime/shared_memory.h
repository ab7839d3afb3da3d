// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_SHARED_MEMORY_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace holdfast::software {

// The shared memory of the block that a thread runs, below 4 GiB where that is
// free, so that 32-bit shared addresses are addresses; with a guard behind it.
// A thread that runs several blocks side by side has an arena for each, by
// `number`. Null if there is no memory.
uint8_t* ThreadSharedMemory(size_t number = 0);

// Bytes of the arena; what a block may use at most.
inline constexpr size_t kSharedMemoryBytes = size_t{228} << 10;

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_SHARED_MEMORY_H_
