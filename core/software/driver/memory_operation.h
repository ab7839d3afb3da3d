// SPDX-License-Identifier: Apache-2.0
//
// Waits for values in memory and writes of them, in stream order or in graphs.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_OPERATION_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_OPERATION_H_

#include <cstdint>
#include <vector>

#include "core/software/driver/memory_map.h"
#include "cuda.h"

namespace holdfast::software {

// One operation of a batch. kNone stands for barriers, which this device does
// not need.
struct MemoryOperation {
  enum class Kind { kWait, kWrite, kNone };
  Kind kind = Kind::kNone;
  // The address of 4 or 8 bytes, and aligned to them.
  uintptr_t address = 0;
  uint64_t value = 0;
  // CU_STREAM_WAIT_VALUE_... or CU_STREAM_WRITE_VALUE_....
  unsigned flags = 0;
  bool wide = false;  // 64 bits
};

// Turns CUDA's structures into operations. Returns CUDA_ERROR_INVALID_VALUE for
// an unknown operation, or more than CUDA takes at a time. CUDA takes 256 at a
// time.
CUresult ParseOperations(const CUstreamBatchMemOpParams* parameters,
                         unsigned count,
                         std::vector<MemoryOperation>* operations);

// Returns CUDA_ERROR_INVALID_VALUE unless all flags are known, and all
// addresses aligned, known to CUDA and accessible.
CUresult CheckOperations(const MemoryMap& memory,
                         const std::vector<MemoryOperation>& operations);

// Whether a wait is satisfied now. True as well where it would give up: a
// kernel has faulted, or the memory is freed. The value is read as one atomic
// word.
bool Satisfied(const MemoryMap& memory, const MemoryOperation& operation);

// Does one operation; blocks for a wait. A wait polls, with pauses of up to a
// millisecond, since other processes may write. A write to memory that was
// freed meanwhile is dropped.
void Run(const MemoryMap& memory, const MemoryOperation& operation);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_OPERATION_H_
