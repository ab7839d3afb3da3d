// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/node_params.h"

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/launch_check.h"
#include "client/cpp/submission/wire_writer.h"
#include "holdfast/v1/graph_commands.pb.h"

namespace holdfast {
namespace {

absl::Status CheckPattern(size_t pattern_size) {
  if (pattern_size == 1 || pattern_size == 2 || pattern_size == 4) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "a pattern of ", pattern_size, " bytes: 1, 2 and 4 are possible"));
}

absl::Status CheckMultiple(const char* what, uint64_t value, size_t of) {
  if (value % of == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, " ", value, " is not a multiple of the pattern's ", of, " bytes"));
}

// Bytes from the first of a box to behind its last; UINT64_MAX: more than 64
// bits can count.
uint64_t Extent(const Box& box, const BoxRange& range) {
  using Wide = unsigned __int128;
  const Wide row = range.row_pitch != 0 ? range.row_pitch : box.width;
  const Wide slice =
      range.slice_pitch != 0 ? range.slice_pitch : row * box.height;
  const Wide end = (box.depth - 1) * slice + (box.height - 1) * row + box.width;
  return end > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(end);
}

absl::Status CheckBox(const Box& box, const BoxRange& range) {
  if (box.width == 0 || box.height == 0 || box.depth == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a box of ", box.width, " bytes x ", box.height, " x ",
                     box.depth, ": at least 1 each"));
  }
  return range.buffer.CheckRange(range.offset, Extent(box, range));
}

void Describe(const BoxRange& range, v1::PitchedRange& message) {
  message.set_buffer(range.buffer.handle());
  message.set_offset(range.offset);
  message.set_row_pitch(range.row_pitch);
  message.set_slice_pitch(range.slice_pitch);
}

// Sets the pattern of a FillBuffer or a FillRect.
template <typename Fill>
void SetPattern(const void* pattern, size_t pattern_size, Fill& fill) {
  uint32_t value = 0;
  std::memcpy(&value, pattern, pattern_size);
  if (pattern_size == 1) {
    fill.set_byte(value);
  } else if (pattern_size == 2) {
    fill.set_half_word(value);
  } else {
    fill.set_word(value);
  }
}

}  // namespace

NodeParams KernelNode(const LaunchConfig& config, const Kernel& kernel,
                      std::span<const Argument> arguments) {
  absl::Status status = CheckGeometry(config);
  if (!status.ok()) return NodeParams(std::move(status));
  std::vector<Argument> resolved;
  const auto values = ResolveAddresses(*kernel.session(), arguments, resolved);
  if (!values.ok()) return NodeParams(values.status());
  // Graphs have many such nodes: its memory is used again.
  static thread_local WireWriter writer(256);
  writer.Truncate(0);
  writer.Message(v1::fields::GraphNode::kLaunch, [&] {
    EncodeLaunch(/*stream=*/0, config, kernel, *values, writer);
  });
  return NodeParams::FromFields({writer.data(), writer.size()});
}

NodeParams CopyNode(const Buffer& destination, const Buffer& source) {
  if (destination.size() != source.size()) {
    return NodeParams(absl::InvalidArgumentError(
        absl::StrCat("the source has ", source.size(),
                     " bytes, the destination ", destination.size())));
  }
  return CopyNode({destination, 0, source, 0, source.size()});
}

NodeParams CopyNode(const RangeCopy& copy) {
  absl::Status status =
      copy.destination.CheckRange(copy.destination_offset, copy.size);
  status.Update(copy.source.CheckRange(copy.source_offset, copy.size));
  if (!status.ok()) return NodeParams(std::move(status));
  v1::GraphNode node;
  v1::CopyBuffer& message = *node.mutable_copy();
  message.set_destination(copy.destination.handle());
  message.set_destination_offset(copy.destination_offset);
  message.set_source(copy.source.handle());
  message.set_source_offset(copy.source_offset);
  message.set_size(copy.size);
  return NodeParams(std::move(node));
}

NodeParams CopyNode(const Place& destination, const Place& source,
                    uint64_t size) {
  auto copy = CopyMessage(destination, source, size);
  if (!copy.ok()) return NodeParams(copy.status());
  v1::GraphNode node;
  *node.mutable_copy() = *std::move(copy);
  return NodeParams(std::move(node));
}

NodeParams CopyBoxNode(const Box& box, const BoxRange& destination,
                       const BoxRange& source) {
  absl::Status status = CheckBox(box, destination);
  status.Update(CheckBox(box, source));
  if (!status.ok()) return NodeParams(std::move(status));
  v1::GraphNode node;
  v1::CopyRect& copy = *node.mutable_copy_rect();
  Describe(destination, *copy.mutable_destination());
  Describe(source, *copy.mutable_source());
  copy.set_width(box.width);
  copy.set_height(box.height);
  copy.set_depth(box.depth);
  return NodeParams(std::move(node));
}

NodeParams FillBytesNode(const Buffer& buffer, const void* pattern,
                         size_t pattern_size, uint64_t offset, uint64_t size) {
  absl::Status status = CheckPattern(pattern_size);
  if (!status.ok()) return NodeParams(std::move(status));
  status.Update(buffer.CheckRange(offset, size));
  status.Update(CheckMultiple("offset", offset, pattern_size));
  status.Update(CheckMultiple("size", size, pattern_size));
  if (!status.ok()) return NodeParams(std::move(status));
  v1::GraphNode node;
  v1::FillBuffer& fill = *node.mutable_fill();
  fill.set_buffer(buffer.handle());
  fill.set_offset(offset);
  fill.set_size(size);
  SetPattern(pattern, pattern_size, fill);
  return NodeParams(std::move(node));
}

NodeParams FillRowBytesNode(const void* pattern, size_t pattern_size,
                            const BoxRange& range, uint64_t width,
                            uint64_t height) {
  absl::Status status = CheckPattern(pattern_size);
  if (!status.ok()) return NodeParams(std::move(status));
  status.Update(CheckBox({.width = width, .height = height}, range));
  status.Update(CheckMultiple("offset", range.offset, pattern_size));
  status.Update(CheckMultiple("width", width, pattern_size));
  if (height > 1) {
    status.Update(CheckMultiple("row pitch", range.row_pitch, pattern_size));
  }
  if (!status.ok()) return NodeParams(std::move(status));
  v1::GraphNode node;
  v1::FillRect& fill = *node.mutable_fill_rect();
  Describe(range, *fill.mutable_destination());
  fill.set_width(width);
  fill.set_height(height);
  SetPattern(pattern, pattern_size, fill);
  return NodeParams(std::move(node));
}

NodeParams FillNode(const Place& destination, const Rows& rows,
                    absl::string_view pattern) {
  auto fill = FillMessage(destination, rows, pattern);
  if (!fill.ok()) return NodeParams(fill.status());
  v1::GraphNode node;
  *node.mutable_fill_rect() = *std::move(fill);
  return NodeParams(std::move(node));
}

NodeParams RecordNode(const Event& event) {
  v1::GraphNode node;
  node.mutable_record()->set_event(event.handle());
  return NodeParams(std::move(node));
}

NodeParams WaitNode(const Event& event) {
  v1::GraphNode node;
  node.mutable_wait()->set_event(event.handle());
  return NodeParams(std::move(node));
}

NodeParams SignalNode(const Semaphore& semaphore, uint64_t value) {
  v1::GraphNode node;
  node.mutable_signal_semaphore()->set_semaphore(semaphore.handle());
  node.mutable_signal_semaphore()->set_value(value);
  return NodeParams(std::move(node));
}

NodeParams WaitNode(const Semaphore& semaphore, uint64_t value) {
  v1::GraphNode node;
  node.mutable_wait_semaphore()->set_semaphore(semaphore.handle());
  node.mutable_wait_semaphore()->set_value(value);
  return NodeParams(std::move(node));
}

NodeParams ValuesNode(std::span<const ValueOperation> operations) {
  auto batch = ValueBatchMessage(operations);
  if (!batch.ok()) return NodeParams(batch.status());
  v1::GraphNode node;
  *node.mutable_value_batch() = *std::move(batch);
  return NodeParams(std::move(node));
}

NodeParams EmptyNode() {
  v1::GraphNode node;
  node.mutable_empty();
  return NodeParams(std::move(node));
}

NodeParams AllocationNode(const Buffer& memory, uint32_t device,
                          const std::vector<uint32_t>& accessible_from) {
  if (memory.size() == 0) {
    return NodeParams(absl::InvalidArgumentError(
        "an allocation of 0 bytes: at least 1 is possible"));
  }
  v1::GraphNode node;
  v1::GraphAllocation& allocation = *node.mutable_allocation();
  allocation.set_buffer(memory.handle());
  allocation.set_size(memory.size());
  allocation.set_device(device);
  allocation.mutable_accessible_from()->Assign(accessible_from.begin(),
                                               accessible_from.end());
  return NodeParams(std::move(node)).On(device);
}

NodeParams FreeNode(const Buffer& memory) {
  v1::GraphNode node;
  node.mutable_free()->set_buffer(memory.handle());
  return NodeParams(std::move(node));
}

}  // namespace holdfast
