// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_OCCUPANCY_COMMAND_H_
#define HOLDFAST_SERVER_EXECUTOR_OCCUPANCY_COMMAND_H_

#include "absl/status/status.h"
#include "server/executor/command.h"

namespace holdfast::executor {

absl::Status Handle(const CommandContext&, const v1::QueryOccupancy&);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_OCCUPANCY_COMMAND_H_
