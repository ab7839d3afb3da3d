// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_VALUE_BATCH_H_
#define HOLDFAST_CLIENT_CUDA_VALUE_BATCH_H_

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/value_batch.h"
#include "client/cuda/copy.h"
#include "client/cuda/memory_map.h"
#include "cuda.h"
#include "holdfast/v1/devices.pb.h"

namespace holdfast::libcuda {

// The operations of cuStreamBatchMemOp, or of a graph node for it: writes of
// values to memory, and waits for values. A value type, which keeps the memory
// alive.
class ValueBatch {
 public:
  using Parameters = std::span<const CUstreamBatchMemOpParams>;

  // Checks the operations as cuStreamBatchMemOp does. INVALID_ARGUMENT: too
  // many operations, an unknown operation or flag, a misaligned value, or no
  // memory of the session at an address. OUT_OF_RANGE: a value reaches beyond
  // its memory. UNIMPLEMENTED: a flush of remote writes, because sessions do
  // not see the writes of other devices on the bus.
  static absl::StatusOr<ValueBatch> Read(const MemoryMap& memory,
                                         Parameters parameters);

  // Fails with UNIMPLEMENTED if the device lacks one of the operations.
  absl::Status CheckSupport(const v1::Device& device) const;

  bool empty() const { return operations_.empty(); }
  // The operations. They refer to memory that this object keeps alive.
  std::span<const ValueOperation> operations() const { return operations_; }

 private:
  absl::Status Add(const MemoryMap& memory,
                   const CUstreamBatchMemOpParams& parameters);
  absl::Status Add(const MemoryMap& memory, CUdeviceptr address, ValueKind kind,
                   uint64_t value, bool wide);

  std::vector<Operand> memory_;
  std::vector<ValueOperation> operations_;
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_VALUE_BATCH_H_
