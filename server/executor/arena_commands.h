// SPDX-License-Identifier: Apache-2.0
//
// Handlers of the commands in buffer_commands.proto that name arenas.
#ifndef HOLDFAST_SERVER_EXECUTOR_ARENA_COMMANDS_H_
#define HOLDFAST_SERVER_EXECUTOR_ARENA_COMMANDS_H_

#include "absl/status/status.h"
#include "server/executor/command.h"

namespace holdfast::executor {

absl::Status Handle(const CommandContext&, const v1::CopyIn&);
absl::Status Handle(const CommandContext&, const v1::CopyOut&);
absl::Status Handle(const CommandContext&, const v1::FreeArena&);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_ARENA_COMMANDS_H_
