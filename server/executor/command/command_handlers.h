// SPDX-License-Identifier: Apache-2.0
//
// The handlers of commands: one overload of Handle for each row of
// proto/commands.inc. A handler runs on the submission thread, never waits for
// the device, and returns the command's error. Each handler is defined in the
// file of its area: stream_commands.cc, buffer_commands.cc, ...
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_COMMAND_HANDLERS_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_COMMAND_HANDLERS_H_

#include "absl/status/status.h"
#include "server/executor/command/command.h"

namespace holdfast::executor {

#define HOLDFAST_COMMAND(field, Message, ...) \
  absl::Status Handle(const CommandContext&, const v1::Message&);
#include "proto/commands.inc"

// Calls the handler of the command, and returns its result. UNIMPLEMENTED: the
// command has no handler.
absl::Status Dispatch(const CommandContext& context,
                      const v1::Command& command);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_COMMAND_HANDLERS_H_
