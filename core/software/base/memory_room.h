// SPDX-License-Identifier: Apache-2.0
//
// Keeps room for the heap in a process whose memory is limited (ulimit -d,
// ulimit -v; an executor has such a limit). Stacks of threads and warps and the
// local memory of kernels are large, and their number depends on the program.
// If they took the last bytes below the limit, the next small allocation would
// fail and end the process. So the driver checks with HasMemoryRoom before it
// allocates them.
#ifndef HOLDFAST_CORE_SOFTWARE_BASE_MEMORY_ROOM_H_
#define HOLDFAST_CORE_SOFTWARE_BASE_MEMORY_ROOM_H_

#include <cstddef>
#include <string>

namespace holdfast::software {

// The purpose of the memory. An allocation for a thread must leave twice as
// much room as one for a kernel, so that the thread can then run a kernel.
enum class RoomFor { kThread, kKernel };

// Returns true if the process can map `bytes` bytes more and then still has
// enough room. For kThread, the room is a quarter of the process's limit, but
// at most 1 GiB; for kKernel, half of that. Returns true if no limit is set.
// Makes two system calls, or four if there is a limit. Thread-safe; reserves
// nothing.
bool HasMemoryRoom(size_t bytes, RoomFor purpose);

// Returns the process's limit and the room for kThread as text for messages,
// "12884901888 bytes of memory of the process's own (RLIMIT_DATA), of which
// 1073741824 are kept for other work". REQUIRES: HasMemoryRoom has returned
// false.
std::string MemoryLimitText();

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_BASE_MEMORY_ROOM_H_
