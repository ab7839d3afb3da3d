// SPDX-License-Identifier: Apache-2.0
//
// Handlers of the commands in stream_commands.proto. Like all handlers they run
// on the submission thread, and return why the command failed.
#ifndef HOLDFAST_SERVER_EXECUTOR_STREAM_COMMANDS_H_
#define HOLDFAST_SERVER_EXECUTOR_STREAM_COMMANDS_H_

#include "absl/status/status.h"
#include "server/executor/command.h"

namespace holdfast::executor {

absl::Status Handle(const CommandContext&, const v1::CreateStream&);
absl::Status Handle(const CommandContext&, const v1::DestroyStream&);
absl::Status Handle(const CommandContext&, const v1::SynchronizeStream&);
absl::Status Handle(const CommandContext&, const v1::QueryStream&);
absl::Status Handle(const CommandContext&, const v1::WaitEvent&);
absl::Status Handle(const CommandContext&, const v1::CreateEvent&);
absl::Status Handle(const CommandContext&, const v1::DestroyEvent&);
absl::Status Handle(const CommandContext&, const v1::RecordEvent&);
absl::Status Handle(const CommandContext&, const v1::SynchronizeEvent&);
absl::Status Handle(const CommandContext&, const v1::QueryEvent&);
absl::Status Handle(const CommandContext&, const v1::ElapsedTime&);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_STREAM_COMMANDS_H_
