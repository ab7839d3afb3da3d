// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_ABI_SHARED_MEMORY_H_
#define HOLDFAST_CORE_SOFTWARE_ABI_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace holdfast::software {

// The most blocks that a cluster may have; 8 unless the kernel allows more.
inline constexpr uint32_t kMaxClusterBlocks = 16;

// Returns the arena, in the window, with the shared memory of the block that
// the calling thread runs; null if there is no memory. Accesses beyond the page
// of the last of `bytes` fault. nullopt: the kernel uses no shared memory, and
// any part of the arena may be accessible. A thread that runs several blocks at
// once has one arena per `number`. Arenas whose numbers have the same quotient
// by kMaxClusterBlocks lie kSharedStrideBytes apart.
uint8_t* ThreadSharedMemory(std::optional<size_t> bytes, size_t number = 0);

// The bytes of an arena: the most that a block may use.
inline constexpr size_t kSharedMemoryBytes = size_t{228} << 10;

// Generated code checks that offsets are below this power of two. Memory
// between the end of the arena and this offset is not mapped.
inline constexpr size_t kSharedWindowBytes = size_t{256} << 10;

// Bytes that fault in front of an arena and behind kSharedWindowBytes.
inline constexpr size_t kSharedReachBytes = size_t{1} << 20;
inline constexpr size_t kSharedGuardBytes =
    kSharedReachBytes + kSharedWindowBytes - kSharedMemoryBytes;

// A power of two, so that the block of a cluster follows from an address.
inline constexpr size_t kSharedStrideBytes = size_t{2} << 20;
static_assert(kSharedStrideBytes >= kSharedMemoryBytes + kSharedGuardBytes);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_ABI_SHARED_MEMORY_H_
