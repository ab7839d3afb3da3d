// SPDX-License-Identifier: Apache-2.0
#include "core/base/status_macros.h"
#include "core/cuda/kernel.h"
#include "core/cuda/launch.h"
#include "server/executor/command/command_handlers.h"
#include "server/executor/command/launch_operands.h"
#include "server/executor/resources/resources.h"
#include "server/executor/submission/kernel_watch.h"

namespace holdfast::executor {

absl::Status Handle(const CommandContext& context, const v1::Launch& command) {
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            context.resources.StreamForWork(command.stream()));
  LaunchOperands operands;
  HOLDFAST_RETURN_IF_ERROR(
      operands.Resolve({context.resources, stream->device}, command));
  const auto launch = [&] {
    return cuda::Launch(*stream->stream, operands.config(), operands.kernel(),
                        operands.arguments());
  };
  KernelWatch* const watch = context.resources.kernel_watch();
  if (watch == nullptr) [[likely]]
    return launch();
  return watch->Launch(*stream->stream,
                       {.sequence = context.sequence,
                        .device = stream->device,
                        .kernels = {operands.kernel().name()}},
                       launch);
}

}  // namespace holdfast::executor
