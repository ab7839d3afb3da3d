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

// Converts CUDA's structures to operations. Returns CUDA_ERROR_INVALID_VALUE
// for an unknown operation, for null, or for more than 256 operations, which is
// CUDA's limit.
CUresult ParseOperations(const CUstreamBatchMemOpParams* parameters,
                         unsigned count,
                         std::vector<MemoryOperation>* operations);

// Returns CUDA_ERROR_INVALID_VALUE unless all flags are known, and all
// addresses aligned, known to CUDA and accessible.
CUresult CheckOperations(const MemoryMap& memory,
                         const std::vector<MemoryOperation>& operations);

// Returns true if a wait is satisfied now, or must be given up because a kernel
// has faulted or the memory was freed. Reads the value as one atomic word.
// REQUIRES: operation.kind is kWait.
bool Satisfied(const MemoryMap& memory, const MemoryOperation& operation);

// Performs one operation. A wait blocks until Satisfied: it polls, with pauses
// of up to a millisecond, because another process may write the value. A write
// to memory that was freed meanwhile is dropped.
void Run(const MemoryMap& memory, const MemoryOperation& operation);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_OPERATION_H_
