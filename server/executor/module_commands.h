// SPDX-License-Identifier: Apache-2.0
//
// Handlers of the commands in module_commands.proto.
#ifndef HOLDFAST_SERVER_EXECUTOR_MODULE_COMMANDS_H_
#define HOLDFAST_SERVER_EXECUTOR_MODULE_COMMANDS_H_

#include "absl/status/status.h"
#include "server/executor/command.h"

namespace holdfast::executor {

absl::Status Handle(const CommandContext&, const v1::LoadModule&);
absl::Status Handle(const CommandContext&, const v1::UnloadModule&);
absl::Status Handle(const CommandContext&, const v1::DescribeModule&);
absl::Status Handle(const CommandContext&, const v1::GetKernel&);
absl::Status Handle(const CommandContext&, const v1::DescribeKernel&);
absl::Status Handle(const CommandContext&, const v1::SetKernelAttribute&);
absl::Status Handle(const CommandContext&, const v1::GetGlobal&);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_MODULE_COMMANDS_H_
