// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_ABI_SHARED_MEMORY_H_
#define HOLDFAST_CORE_SOFTWARE_ABI_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace holdfast::software {

// The maximum of the blocks of a cluster. A cluster has at most 8 blocks unless
// the kernel allows more.
inline constexpr uint32_t kMaxClusterBlocks = 16;

// Returns the arena for the shared memory of a block that the calling thread
// runs: kSharedMemoryBytes of addresses in the window. Returns null if there is
// no memory. Makes `bytes` bytes accessible, rounded up to whole pages;
// accesses beyond fault. If `bytes` is nullopt, the kernel uses no shared
// memory, and any part of the arena may be accessible. A thread that runs
// several blocks at once has an arena for each `number`. Arenas whose numbers
// have the same quotient by kMaxClusterBlocks lie kSharedStrideBytes apart. An
// arena is valid until its thread ends.
uint8_t* ThreadSharedMemory(std::optional<size_t> bytes, size_t number = 0);

// The bytes of an arena, which are the maximum for a block.
inline constexpr size_t kSharedMemoryBytes = size_t{228} << 10;

// Generated code checks that offsets are below this power of two. Memory
// between the end of the arena and this offset is not mapped.
inline constexpr size_t kSharedWindowBytes = size_t{256} << 10;

// The number of bytes before an arena, and after its first kSharedWindowBytes,
// that fault.
inline constexpr size_t kSharedReachBytes = size_t{1} << 20;
inline constexpr size_t kSharedGuardBytes =
    kSharedReachBytes + kSharedWindowBytes - kSharedMemoryBytes;

// The distance of the arenas of a cluster. It is a power of two, so that the
// number of a block in its cluster can be computed from an address.
inline constexpr size_t kSharedStrideBytes = size_t{2} << 20;
static_assert(kSharedStrideBytes >= kSharedMemoryBytes + kSharedGuardBytes);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_ABI_SHARED_MEMORY_H_
