// SPDX-License-Identifier: Apache-2.0
//
// Handlers of the commands in buffer_commands.proto.
#ifndef HOLDFAST_SERVER_EXECUTOR_BUFFER_COMMANDS_H_
#define HOLDFAST_SERVER_EXECUTOR_BUFFER_COMMANDS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/executor/command.h"

namespace holdfast::executor {

absl::Status Handle(const CommandContext&, const v1::AllocateBuffer&);
absl::Status Handle(const CommandContext&, const v1::FreeBuffer&);
absl::Status Handle(const CommandContext&, const v1::CreateSubBuffer&);
absl::Status Handle(const CommandContext&, const v1::DescribeBuffer&);
absl::Status Handle(const CommandContext&, const v1::WriteBuffer&);
absl::Status Handle(const CommandContext&, const v1::ReadBuffer&);
absl::Status Handle(const CommandContext&, const v1::FillBuffer&);

// Address of `size` bytes at `offset` of a buffer. OUT_OF_RANGE: beyond its
// end.
absl::StatusOr<CUdeviceptr> ResolveRange(Resources& resources, uint64_t buffer,
                                         uint64_t offset, uint64_t size);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_BUFFER_COMMANDS_H_
