// SPDX-License-Identifier: Apache-2.0
//
// The room that a limited process (ulimit -d, ulimit -v; an executor has such a
// limit) keeps for the heap. Stacks of threads and of warps and the local
// memory of kernels are large, and their number depends on the program. If they
// took the last bytes below the limit, the next small allocation would fail and
// end the process.
#ifndef HOLDFAST_CORE_SOFTWARE_BASE_MEMORY_ROOM_H_
#define HOLDFAST_CORE_SOFTWARE_BASE_MEMORY_ROOM_H_

#include <cstddef>
#include <string>

namespace holdfast::software {

// The purpose of the memory. A thread leaves twice the room that a kernel
// leaves, so that the kernel that the thread was started for can run.
enum class RoomFor { kThread, kKernel };

// Returns whether the process can map `bytes` more and then still has the kept
// room: for a thread a quarter of its limit, but 1 GiB at most. True if no
// limit is set. Costs two system calls, and four if there is a limit.
// Thread-safe; makes no reservation.
bool HasMemoryRoom(size_t bytes, RoomFor purpose);

// Returns the limit for messages about threads, "12884901888 bytes of memory of
// the process's own (RLIMIT_DATA), of which 1073741824 are kept for other
// work". REQUIRES: HasMemoryRoom has returned false.
std::string MemoryLimitText();

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_BASE_MEMORY_ROOM_H_
