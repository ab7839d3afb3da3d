// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_SHARED_MEMORY_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace holdfast::software {

// The most blocks that a cluster may have; 8 unless the kernel allows more.
inline constexpr uint32_t kMaxClusterBlocks = 16;

// Returns the shared memory, in the window, for the block that the calling
// thread runs; null if there is no memory. Accesses beyond the page of its last
// byte fault. `bytes` is nullopt if the kernel names no shared memory; then the
// bytes are arbitrary. A thread that runs several blocks at once has an arena
// for each `number`. The arenas of kMaxClusterBlocks numbers, from a multiple
// of it, lie kSharedStrideBytes apart.
uint8_t* ThreadSharedMemory(std::optional<size_t> bytes, size_t number = 0);

// Bytes of the arena: the most that a block may use.
inline constexpr size_t kSharedMemoryBytes = size_t{228} << 10;

// Generated code checks that offsets are below this power of two. Memory
// between the end of the arena and this offset is not mapped.
inline constexpr size_t kSharedWindowBytes = size_t{256} << 10;

// Bytes that fault in front of an arena and behind kSharedWindowBytes.
inline constexpr size_t kSharedReachBytes = size_t{1} << 20;
inline constexpr size_t kSharedGuardBytes =
    kSharedReachBytes + kSharedWindowBytes - kSharedMemoryBytes;

// A power of two, so that an address tells the block of the cluster.
inline constexpr size_t kSharedStrideBytes = size_t{2} << 20;
static_assert(kSharedStrideBytes >= kSharedMemoryBytes + kSharedGuardBytes);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_SHARED_MEMORY_H_
