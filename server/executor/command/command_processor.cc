// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/command_processor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "proto/command_facts.h"
#include "server/executor/command/command_handlers.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

// UNIMPLEMENTED, with the command's name.
absl::Status Refuse(const v1::Command& command) {
  const auto* field = v1::Command::descriptor()->FindFieldByNumber(
      static_cast<int>(command.operation_case()));
  if (field == nullptr) {
    return absl::UnimplementedError("a command that this server does not know");
  }
  return absl::UnimplementedError(
      absl::StrCat(field->name(), " is not served"));
}

}  // namespace

absl::Status Dispatch(const CommandContext& context,
                      const v1::Command& command) {
  switch (command.operation_case()) {
#define HOLDFAST_COMMAND(field, Message, ...) \
  case v1::Command::k##Message:               \
    return Handle(context, command.field());
#include "proto/commands.inc"
    default:
      return Refuse(command);
  }
}

absl::Status CommandProcessor::Carry(const CommandContext& context,
                                     const v1::Command& command,
                                     absl::string_view encoded) {
  if (journal_ == nullptr) return Dispatch(context, command);
  journal_->Begin(context.sequence, command, resources_);
  absl::Status status = Dispatch(context, command);
  journal_->End(context.sequence, command, status, resources_, encoded);
  return status;
}

bool CommandProcessor::MayProceed(const v1::Command& command,
                                  ResultQueue& results) {
  // Any command has a result if it fails.
  if (!results.HasRoom(wake_)) return false;
  const CommandRoom room = FactsOf(command).room;
  if (room.memory == CommandRoom::Memory::kNone) return true;
  if (room.memory == CommandRoom::Memory::kPinned) {
    // Waits for pinned memory that was freed and that a device still uses.
    return resources_.account().pinned_memory()->IsSettled(room.bytes, wake_);
  }
  // The handler reports any other obstacle.
  if (room.bytes > kMaxInlineBytes) return true;
  const auto space = resources_.Inline();
  return !space.ok() || (*space)->HasRoom(room.bytes, wake_);
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
                               const EncodedCommands* encoded,
                               const std::shared_ptr<ResultQueue>& results,
                               int* next) {
  CommandContext context{resources_, fetch_object_, results, failures_};
  const bool paced = turns_.paced();
  for (; *next < batch.commands_size(); ++*next) {
    const v1::Command& command = batch.commands(*next);
    if (!MayProceed(command, *results)) return false;
    if (paced && !turns_.MayProceed(command)) return false;
    context.sequence = batch.first_sequence() + static_cast<uint64_t>(*next);
    resources_.stream_work().SetCommand(context.sequence);
    context.last = *next + 1 == batch.commands_size();
    const absl::Status status =
        Carry(context, command,
              encoded == nullptr ? absl::string_view() : encoded->Of(*next));
    counts_.Add(command.operation_case(), status.ok());
    if (!status.ok()) [[unlikely]]
      NoteFailure(context, status);
  }
  return true;
}

}  // namespace holdfast::executor
