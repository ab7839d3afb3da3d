// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/base/status_macros.h"
#include "core/cuda/copy.h"
#include "server/executor/command/buffer_range.h"
#include "server/executor/command/command_handlers.h"

namespace holdfast::executor {
namespace {

absl::StatusOr<CUdeviceptr> ResolveArena(Resources& resources, uint64_t arena,
                                         uint64_t offset, uint64_t size) {
  HOLDFAST_ASSIGN_OR_RETURN(ArenaResource * found,
                            resources.arenas.Find(arena));
  const uint64_t limit = found->arena->size();
  if (offset > limit || size > limit - offset) [[unlikely]] {
    HOLDFAST_RETURN_IF_ERROR(
        cuda::CheckRange(DescribeHandle(arena), offset, size, limit));
  }
  return found->arena->device_address() + offset;
}

// CopyIn and CopyOut have the same fields.
template <typename Copy>
absl::Status CopyBytes(const CommandContext& context, const Copy& command,
                       bool in) {
  Resources& resources = context.resources;
  const uint64_t size = command.size();
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.StreamForWork(command.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(
      const CUdeviceptr buffer,
      ResolveRange(resources, command.buffer(), command.offset(), size,
                   in ? Access::kWrite : Access::kRead));
  HOLDFAST_ASSIGN_OR_RETURN(
      const CUdeviceptr arena,
      ResolveArena(resources, command.arena(), command.arena_offset(), size));
  HOLDFAST_RETURN_IF_ERROR(cuda::CopyAsync(*stream->stream, in ? buffer : arena,
                                           in ? arena : buffer, size));
  const v1::CopyPath path =
      command.staged() ? v1::COPY_PATH_STAGED : v1::COPY_PATH_ARENA;
  resources.copies().Add(path, size);
  if (!command.report()) return absl::OkStatus();
  v1::Result result;
  result.mutable_copy()->set_path(path);
  result.mutable_copy()->set_size(size);
  context.WatchWork(*stream,
                    [result = std::move(result), reply = context.ReplyLater()](
                        const absl::Status& status) { reply(status, result); });
  return absl::OkStatus();
}

}  // namespace

absl::Status Handle(const CommandContext& context, const v1::CopyIn& command) {
  return CopyBytes(context, command, /*in=*/true);
}

absl::Status Handle(const CommandContext& context, const v1::CopyOut& command) {
  return CopyBytes(context, command, /*in=*/false);
}

absl::Status Handle(const CommandContext& context,
                    const v1::FreeArena& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(auto arena, resources.arenas.Take(command.arena()));
  if (arena.has_value()) resources.FreeArena(*std::move(arena));
  return absl::OkStatus();
}

}  // namespace holdfast::executor
