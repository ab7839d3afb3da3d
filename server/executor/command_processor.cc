// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command_processor.h"

#include <utility>

#include "core/base/status_macros.h"
#include "server/executor/arena_commands.h"
#include "server/executor/buffer_commands.h"
#include "server/executor/copy_commands.h"
#include "server/executor/launch_command.h"
#include "server/executor/module_commands.h"
#include "server/executor/occupancy_command.h"
#include "server/executor/peer_commands.h"
#include "server/executor/stream_commands.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {

absl::Status CommandProcessor::HandleFence(const CommandContext& context,
                                           const v1::Fence& fence) {
  CompletionWatcher::Events marks;
  absl::Status status;
  const auto mark = [&](StreamResource& stream) {
    auto event = resources_.watcher().Mark(*stream.stream);
    if (event.ok()) {
      marks.push_back(*std::move(event));
    } else if (status.ok()) {
      status = event.status();
    }
  };
  if (fence.all_streams()) {
    resources_.streams.ForEach(mark);
  } else {
    for (const uint64_t handle : fence.streams()) {
      HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                                resources_.streams.Find(handle));
      mark(*stream);
    }
  }
  HOLDFAST_RETURN_IF_ERROR(status);
  v1::Result result;
  result.mutable_fence()->Swap(&failures_);
  failures_.Clear();
  resources_.watcher().Watch(
      std::move(marks),
      [result = std::move(result), reply = context.ReplyLater()](
          const absl::Status& device_status) { reply(device_status, result); });
  return absl::OkStatus();
}

absl::Status CommandProcessor::Dispatch(const CommandContext& context,
                                        const v1::Command& command) {
  using Operation = v1::Command::OperationCase;
  switch (command.operation_case()) {
    case Operation::kCreateStream:
      return Handle(context, command.create_stream());
    case Operation::kDestroyStream:
      return Handle(context, command.destroy_stream());
    case Operation::kSynchronizeStream:
      return Handle(context, command.synchronize_stream());
    case Operation::kQueryStream:
      return Handle(context, command.query_stream());
    case Operation::kWaitEvent:
      return Handle(context, command.wait_event());
    case Operation::kCreateEvent:
      return Handle(context, command.create_event());
    case Operation::kDestroyEvent:
      return Handle(context, command.destroy_event());
    case Operation::kRecordEvent:
      return Handle(context, command.record_event());
    case Operation::kSynchronizeEvent:
      return Handle(context, command.synchronize_event());
    case Operation::kQueryEvent:
      return Handle(context, command.query_event());
    case Operation::kElapsedTime:
      return Handle(context, command.elapsed_time());
    case Operation::kAllocateBuffer:
      return Handle(context, command.allocate_buffer());
    case Operation::kFreeBuffer:
      return Handle(context, command.free_buffer());
    case Operation::kCreateSubBuffer:
      return Handle(context, command.create_sub_buffer());
    case Operation::kDescribeBuffer:
      return Handle(context, command.describe_buffer());
    case Operation::kWriteBuffer:
      return Handle(context, command.write_buffer());
    case Operation::kReadBuffer:
      return Handle(context, command.read_buffer());
    case Operation::kCopyBuffer:
      return Handle(context, command.copy_buffer());
    case Operation::kFillBuffer:
      return Handle(context, command.fill_buffer());
    case Operation::kLoadModule:
      return Handle(context, command.load_module());
    case Operation::kUnloadModule:
      return Handle(context, command.unload_module());
    case Operation::kDescribeModule:
      return Handle(context, command.describe_module());
    case Operation::kGetKernel:
      return Handle(context, command.get_kernel());
    case Operation::kDescribeKernel:
      return Handle(context, command.describe_kernel());
    case Operation::kSetKernelAttribute:
      return Handle(context, command.set_kernel_attribute());
    case Operation::kGetGlobal:
      return Handle(context, command.get_global());
    case Operation::kQueryOccupancy:
      return Handle(context, command.query_occupancy());
    case Operation::kQueryPeerAccess:
      return Handle(context, command.query_peer_access());
    case Operation::kEnablePeerAccess:
      return Handle(context, command.enable_peer_access());
    case Operation::kDisablePeerAccess:
      return Handle(context, command.disable_peer_access());
    case Operation::kLaunch:
      return Handle(context, command.launch());
    case Operation::kFence:
      return HandleFence(context, command.fence());
    case Operation::kCreateGraph:
    case Operation::kDestroyGraph:
    case Operation::kInstantiateGraph:
    case Operation::kUpdateGraphExec:
    case Operation::kLaunchGraph:
    case Operation::kDestroyGraphExec:
      return absl::UnimplementedError("graphs are not served");
    case Operation::kCopyIn:
      return Handle(context, command.copy_in());
    case Operation::kCopyOut:
      return Handle(context, command.copy_out());
    case Operation::kFreeArena:
      return Handle(context, command.free_arena());
    case Operation::kCopyRect:
      return Handle(context, command.copy_rect());
    case Operation::kFillRect:
      return Handle(context, command.fill_rect());
    case Operation::kCopyBatch:
      return Handle(context, command.copy_batch());
    case Operation::OPERATION_NOT_SET:
      break;
  }
  return absl::UnimplementedError("a command that this server does not know");
}

bool CommandProcessor::MayProceed(const v1::Command& command,
                                  ResultQueue& results) {
  // Any command has a result if it fails.
  if (!results.HasRoom(wake_)) return false;
  size_t bytes = 0;
  if (command.has_allocate_buffer() && command.allocate_buffer().has_host()) {
    // Waits for pinned memory that was freed and that a device still uses.
    return resources_.account().pinned_memory()->IsSettled(
        command.allocate_buffer().size(), wake_);
  }
  if (command.has_write_buffer()) {
    bytes = command.write_buffer().data().size();
  } else if (command.has_read_buffer()) {
    bytes = command.read_buffer().size();
  } else {
    return true;
  }
  // What stands in the way otherwise is for the handler to tell.
  if (bytes > kMaxInlineBytes) return true;
  const auto space = resources_.Inline();
  return !space.ok() || (*space)->HasRoom(bytes, wake_);
}

void CommandProcessor::NoteFailure(const CommandContext& context,
                                   const absl::Status& status) {
  context.results->AddError(context.sequence, status);
  if (failures_.failures() == 0) {
    failures_.set_first_failed_sequence(context.sequence);
    *failures_.mutable_first_error() = ToError(status);
  }
  failures_.set_failures(failures_.failures() + 1);
}

bool CommandProcessor::Process(const v1::CommandBatch& batch,
                               const std::shared_ptr<ResultQueue>& results,
                               int* next) {
  CommandContext context{resources_, fetch_object_, results};
  for (; *next < batch.commands_size(); ++*next) {
    const v1::Command& command = batch.commands(*next);
    if (!MayProceed(command, *results)) return false;
    context.sequence = batch.first_sequence() + static_cast<uint64_t>(*next);
    const absl::Status status = Dispatch(context, command);
    if (!status.ok()) [[unlikely]]
      NoteFailure(context, status);
  }
  return true;
}

}  // namespace holdfast::executor
