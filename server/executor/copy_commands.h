// SPDX-License-Identifier: Apache-2.0
//
// Handlers of the commands in buffer_commands.proto that copy within devices
// and between them, or fill, in more than one dimension.
#ifndef HOLDFAST_SERVER_EXECUTOR_COPY_COMMANDS_H_
#define HOLDFAST_SERVER_EXECUTOR_COPY_COMMANDS_H_

#include "absl/status/status.h"
#include "server/executor/command.h"

namespace holdfast::executor {

absl::Status Handle(const CommandContext&, const v1::CopyBuffer&);
absl::Status Handle(const CommandContext&, const v1::CopyRect&);
absl::Status Handle(const CommandContext&, const v1::FillRect&);
absl::Status Handle(const CommandContext&, const v1::CopyBatch&);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COPY_COMMANDS_H_
