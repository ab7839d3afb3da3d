// SPDX-License-Identifier: Apache-2.0
#include "server/executor/copy_commands.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/box.h"
#include "core/cuda/copy.h"
#include "server/executor/copy_place.h"
#include "server/executor/fill_pattern.h"

namespace holdfast::executor {
namespace {

struct Copy {
  CopyPlace destination;
  CopyPlace source;
  uint64_t size = 0;
};

// CopyBuffer and BatchedCopy have the same fields.
template <typename Message>
absl::StatusOr<Copy> Resolve(Resources& resources, const Message& message) {
  Copy copy{.size = message.size()};
  HOLDFAST_ASSIGN_OR_RETURN(
      copy.destination, ResolvePlace(resources, message.destination(),
                                     message.destination_offset(), copy.size));
  HOLDFAST_ASSIGN_OR_RETURN(copy.source,
                            ResolvePlace(resources, message.source(),
                                         message.source_offset(), copy.size));
  const CUdeviceptr a = copy.destination.address, b = copy.source.address;
  if (copy.size == 0 || (a > b ? a - b : b - a) >= copy.size) [[likely]] {
    return copy;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "a copy of ", copy.size, " bytes from ", DescribeHandle(message.source()),
      " offset ", message.source_offset(), " to ",
      DescribeHandle(message.destination()), " offset ",
      message.destination_offset(), ": the ranges overlap"));
}

// One side of a copy of boxes, checked.
absl::StatusOr<cuda::Pitches> ResolveBox(Resources& resources,
                                         const cuda::Box& box,
                                         const v1::PitchedRange& range,
                                         CopyPlace* place) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const cuda::Pitches pitches,
      cuda::CompletePitches(box, {range.row_pitch(), range.slice_pitch()}));
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t extent,
                            cuda::BoxExtent(box, pitches));
  HOLDFAST_ASSIGN_OR_RETURN(
      *place, ResolvePlace(resources, range.buffer(), range.offset(), extent));
  return pitches;
}

// The context whose memory it is; that of the other side, or of the stream, for
// memory of the host, which all share.
absl::StatusOr<const cuda::Context*> ContextOf(Resources& resources,
                                               const CopyPlace& place,
                                               const CopyPlace& other,
                                               const cuda::Stream& stream) {
  const auto device = place.device ? place.device : other.device;
  if (!device.has_value()) return &stream.context();
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * state, resources.Device(*device));
  return state->context.get();
}

}  // namespace

absl::Status Handle(const CommandContext& context,
                    const v1::CopyBuffer& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.streams.Find(command.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(const Copy copy, Resolve(resources, command));
  return CopyBetween(resources, *stream->stream, copy.destination, copy.source,
                     copy.size);
}

absl::Status Handle(const CommandContext& context,
                    const v1::CopyRect& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * found,
                            resources.streams.Find(command.stream()));
  const cuda::Stream& stream = *found->stream;
  const cuda::Box box = {command.width(), command.height(), command.depth()};
  CopyPlace to, from;
  cuda::BoxPlace destination, source;
  HOLDFAST_ASSIGN_OR_RETURN(
      destination.pitches,
      ResolveBox(resources, box, command.destination(), &to));
  HOLDFAST_ASSIGN_OR_RETURN(
      source.pitches, ResolveBox(resources, box, command.source(), &from));
  destination.address = to.address;
  source.address = from.address;
  HOLDFAST_RETURN_IF_ERROR(cuda::CheckApart(box, destination.address,
                                            destination.pitches, source.address,
                                            source.pitches));
  HOLDFAST_ASSIGN_OR_RETURN(destination.context,
                            ContextOf(resources, to, from, stream));
  HOLDFAST_ASSIGN_OR_RETURN(source.context,
                            ContextOf(resources, from, to, stream));
  HOLDFAST_RETURN_IF_ERROR(
      cuda::CopyBoxAsync(stream, box, destination, source));
  resources.copies().Add(PathOf(to, from), box.width * box.height * box.depth);
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::FillRect& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.streams.Find(command.stream()));
  if (command.destination().slice_pitch() != 0) {
    return absl::InvalidArgumentError("a fill of rows has no slice pitch");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const FillPattern pattern, PatternOf(command));
  const cuda::Box box = {command.width(), command.height(), 1};
  CopyPlace place;
  HOLDFAST_ASSIGN_OR_RETURN(
      const cuda::Pitches pitches,
      ResolveBox(resources, box, command.destination(), &place));
  HOLDFAST_RETURN_IF_ERROR(
      CheckAlignment(pattern, command.destination().offset()));
  return cuda::FillBoxAsync(*stream->stream, box, place.address, pitches,
                            pattern.value, pattern.bytes);
}

absl::Status Handle(const CommandContext& context,
                    const v1::CopyBatch& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.streams.Find(command.stream()));
  std::vector<Copy> copies;
  bool peers = false;
  for (const v1::BatchedCopy& each : command.copies()) {
    HOLDFAST_ASSIGN_OR_RETURN(const Copy copy, Resolve(resources, each));
    if (copy.size == 0) continue;
    peers = peers || IsPeerCopy(copy.destination, copy.source);
    copies.push_back(copy);
  }
  if (peers) {
    for (const Copy& copy : copies) {
      HOLDFAST_RETURN_IF_ERROR(CopyBetween(resources, *stream->stream,
                                           copy.destination, copy.source,
                                           copy.size));
    }
    return absl::OkStatus();
  }
  cuda::CopyList list;
  for (const Copy& copy : copies) {
    list.Add(copy.destination.address, copy.source.address, copy.size);
  }
  HOLDFAST_RETURN_IF_ERROR(cuda::CopyAllAsync(*stream->stream, list));
  for (const Copy& copy : copies) {
    resources.copies().Add(PathOf(copy.destination, copy.source), copy.size);
  }
  return absl::OkStatus();
}

}  // namespace holdfast::executor
