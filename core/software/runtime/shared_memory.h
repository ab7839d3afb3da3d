// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_SHARED_MEMORY_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace holdfast::software {

// Returns the shared memory of the block that the calling thread runs, in the
// window. Accesses beyond the page that holds its last byte fault. nullopt: the
// kernel names no shared memory, and its bytes do not matter. A thread that
// runs several blocks side by side has an arena for each, by `number`. Null if
// there is no memory.
uint8_t* ThreadSharedMemory(std::optional<size_t> bytes, size_t number = 0);

// Bytes of the arena; what a block may use at most.
inline constexpr size_t kSharedMemoryBytes = size_t{228} << 10;

// Generated code tests that an offset is below this power of two. Between the
// end of the arena and here nothing is mapped.
inline constexpr size_t kSharedWindowBytes = size_t{256} << 10;

// Bytes that fault in front of an arena and behind kSharedWindowBytes.
inline constexpr size_t kSharedReachBytes = size_t{1} << 20;
inline constexpr size_t kSharedGuardBytes =
    kSharedReachBytes + kSharedWindowBytes - kSharedMemoryBytes;

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_SHARED_MEMORY_H_
