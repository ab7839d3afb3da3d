// SPDX-License-Identifier: Apache-2.0
//
// Waits for values in memory and writes of values to memory, in streams or in
// graphs.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_OPERATION_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_OPERATION_H_

#include <cstdint>
#include <vector>

#include "core/software/driver/memory_map.h"
#include "cuda.h"

namespace holdfast::software {

// One operation of a batch. kNone is a barrier, which does nothing, because the
// memory of this device is coherent.
struct MemoryOperation {
  enum class Kind { kWait, kWrite, kNone };
  Kind kind = Kind::kNone;
  // The address of the value. CheckOperations checks its alignment.
  uintptr_t address = 0;
  uint64_t value = 0;
  // CU_STREAM_WAIT_VALUE_... or CU_STREAM_WRITE_VALUE_....
  unsigned flags = 0;
  bool wide = false;  // true: the value has 64 bits; false: 32
};

// Converts CUDA's structures to operations. Returns CUDA_ERROR_INVALID_VALUE
// for an unknown operation, for null, or for more than 256 operations, which is
// CUDA's limit.
CUresult ParseOperations(const CUstreamBatchMemOpParams* parameters,
                         unsigned count,
                         std::vector<MemoryOperation>* operations);

// Returns CUDA_ERROR_INVALID_VALUE unless all flags are known and all addresses
// are aligned to their values and lie in regions of `memory` that permit the
// access. Otherwise returns CUDA_SUCCESS.
CUresult CheckOperations(const MemoryMap& memory,
                         const std::vector<MemoryOperation>& operations);

// Returns true if the value satisfies the wait now. Also returns true if the
// wait must end because a kernel has faulted or the memory was freed. Reads the
// value atomically. Does not block.
// REQUIRES: operation.kind is kWait.
bool Satisfied(const MemoryMap& memory, const MemoryOperation& operation);

// Performs one operation. A wait blocks until Satisfied returns true. It polls,
// because another process may write the value. The pauses are up to a
// millisecond long, and longer if more than 8 threads wait, so that many waits
// do not occupy all processors. A write to memory that was freed meanwhile is
// dropped.
void Run(const MemoryMap& memory, const MemoryOperation& operation);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_OPERATION_H_
