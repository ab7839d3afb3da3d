// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_LAUNCH_COMMAND_H_
#define HOLDFAST_SERVER_EXECUTOR_LAUNCH_COMMAND_H_

#include "absl/status/status.h"
#include "server/executor/command.h"

namespace holdfast::executor {

// launch.proto.
absl::Status Handle(const CommandContext&, const v1::Launch&);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_LAUNCH_COMMAND_H_
