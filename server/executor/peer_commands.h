// SPDX-License-Identifier: Apache-2.0
//
// Handlers of the commands of peer_commands.proto.
#ifndef HOLDFAST_SERVER_EXECUTOR_PEER_COMMANDS_H_
#define HOLDFAST_SERVER_EXECUTOR_PEER_COMMANDS_H_

#include "absl/status/status.h"
#include "holdfast/v1/peer_commands.pb.h"
#include "server/executor/command.h"

namespace holdfast::executor {

absl::Status Handle(const CommandContext& context,
                    const v1::QueryPeerAccess& command);
absl::Status Handle(const CommandContext& context,
                    const v1::EnablePeerAccess& command);
absl::Status Handle(const CommandContext& context,
                    const v1::DisablePeerAccess& command);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_PEER_COMMANDS_H_
