// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_LOCAL_MEMORY_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_LOCAL_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace holdfast::software {

// Returns `bytes` bytes of memory in the window for the local variables of the
// warps that the calling thread runs. The memory is not cleared. It belongs to
// the thread, and is valid until the thread's next call. Returns null if there
// is no memory.
uint8_t* ThreadLocalMemory(size_t bytes);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_LOCAL_MEMORY_H_
