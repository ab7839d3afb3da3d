// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/base/status_macros.h"
#include "core/cuda/box.h"
#include "core/cuda/copy.h"
#include "server/executor/command/command_handlers.h"
#include "server/executor/command/copy_operand.h"
#include "server/executor/command/copy_operands.h"
#include "server/executor/command/fill_operands.h"

namespace holdfast::executor {
absl::Status Handle(const CommandContext& context,
                    const v1::CopyBuffer& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.StreamForWork(command.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(const CopyOperands copy,
                            ResolveCopy({resources, stream->device}, command));
  return CopyBetween(resources, *stream->stream, copy.destination, copy.source,
                     copy.size);
}

absl::Status Handle(const CommandContext& context,
                    const v1::CopyRect& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * found,
                            resources.StreamForWork(command.stream()));
  const cuda::Stream& stream = *found->stream;
  HOLDFAST_ASSIGN_OR_RETURN(const BoxCopyOperands copy,
                            ResolveCopy({resources, found->device}, command));
  const CopyOperand& to = copy.destination.place;
  const CopyOperand& from = copy.source.place;
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Context* to_context,
                            ContextOf(resources, to, from, stream.context()));
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Context* from_context,
                            ContextOf(resources, from, to, stream.context()));
  HOLDFAST_RETURN_IF_ERROR(cuda::CopyBoxAsync(
      stream, copy.box, {to.address, copy.destination.pitches, to_context},
      {from.address, copy.source.pitches, from_context}));
  resources.copies().Add(PathOf(to, from),
                         copy.box.width * copy.box.height * copy.box.depth);
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::FillRect& command) {
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            context.resources.StreamForWork(command.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(
      const FillOperands fill,
      ResolveFill({context.resources, stream->device}, command));
  return cuda::FillBoxAsync(*stream->stream, fill.box, fill.address,
                            fill.pitches, fill.pattern.value,
                            fill.pattern.bytes);
}

absl::Status Handle(const CommandContext& context,
                    const v1::CopyBatch& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.StreamForWork(command.stream()));
  std::vector<CopyOperands> copies;
  bool peers = false;
  for (const v1::BatchedCopy& each : command.copies()) {
    HOLDFAST_ASSIGN_OR_RETURN(const CopyOperands copy,
                              ResolveCopy({resources, stream->device}, each));
    if (copy.size == 0) continue;
    peers = peers || IsPeerCopy(copy.destination, copy.source);
    copies.push_back(copy);
  }
  if (peers) {
    for (const CopyOperands& copy : copies) {
      HOLDFAST_RETURN_IF_ERROR(CopyBetween(resources, *stream->stream,
                                           copy.destination, copy.source,
                                           copy.size));
    }
    return absl::OkStatus();
  }
  cuda::CopyList list;
  for (const CopyOperands& copy : copies) {
    list.Add(copy.destination.address, copy.source.address, copy.size);
  }
  HOLDFAST_RETURN_IF_ERROR(cuda::CopyAllAsync(*stream->stream, list));
  for (const CopyOperands& copy : copies) {
    resources.copies().Add(PathOf(copy.destination, copy.source), copy.size);
  }
  return absl::OkStatus();
}

}  // namespace holdfast::executor
