// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_COPY_OPERAND_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_COPY_OPERAND_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda.h"
#include "holdfast/v1/buffer_commands.pb.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

// One side of a copy: the place of its bytes in a buffer or an arena.
struct CopyOperand {
  CUdeviceptr address = 0;
  std::optional<uint32_t> device;  // nullopt: the bytes are in host memory
  bool is_arena = false;
};

// Returns the place of `size` bytes at `offset` of the buffer or arena
// `handle`. OUT_OF_RANGE: the bytes are beyond the end. Otherwise fails as
// HandleTable::Find and CheckAccess do.
absl::StatusOr<CopyOperand> ResolveCopyOperand(Resources& resources,
                                               uint64_t handle, uint64_t offset,
                                               uint64_t size, Access access);

// Returns true if the copy is between two devices.
inline bool IsPeerCopy(const CopyOperand& a, const CopyOperand& b) {
  return a.device && b.device && a.device != b.device;
}

inline v1::CopyPath PathOf(const CopyOperand& a, const CopyOperand& b) {
  if (IsPeerCopy(a, b)) return v1::COPY_PATH_PEER;
  if (a.is_arena || b.is_arena) return v1::COPY_PATH_ARENA;
  return v1::COPY_PATH_DEVICE;
}

// Enqueues the copy in the stream, with cuMemcpyPeerAsync if it is between two
// devices, and adds it to resources.copies(). Does nothing for 0 bytes.
absl::Status CopyBetween(Resources& resources, const cuda::Stream& stream,
                         const CopyOperand& destination,
                         const CopyOperand& source, uint64_t size);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_COPY_OPERAND_H_
