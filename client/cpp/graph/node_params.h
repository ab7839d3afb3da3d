// SPDX-License-Identifier: Apache-2.0
//
// The parameters of one node: what it does, apart from when. They are made by a
// function for each kind of node, and used three times: to add a node to a
// GraphDefinition, to change one there, and to change one of a GraphExec.
//
//   definition.Add(KernelNode({.grid = 64, .block = 256}, scale, x, 2.0f));
//   exec.Update(node, KernelNode({.grid = 64, .block = 256}, scale, y, 3.0f));
//
// Kernels, buffers and events are named by their handles: they must live until
// the graph was created (Graph::Create), which keeps them from then on.
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_NODE_PARAMS_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_NODE_PARAMS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cpp/box_copy.h"
#include "client/cpp/buffer.h"
#include "client/cpp/event.h"
#include "client/cpp/launch.h"
#include "client/cpp/place.h"
#include "client/cpp/sharing/semaphore.h"
#include "holdfast/v1/graph_commands.pb.h"

namespace holdfast {

// A value, kept as the bytes that are sent, so that a definition of many nodes
// is sent without a message object for each. An error found by a function below
// is kept and reported by the call that uses the parameters.
class NodeParams {
 public:
  // Id and dependencies are left out.
  explicit NodeParams(v1::GraphNode node);
  explicit NodeParams(absl::Status error) : status_(std::move(error)) {}
  // `fields`: those of a GraphNode, as protobuf encodes them, without id,
  // dependencies, child graph and branches.
  static NodeParams FromFields(absl::string_view fields);

  // The first error that was found; OK if there is none.
  const absl::Status& status() const { return status_; }
  // The parameters as a message, without id and dependencies. For nodes that
  // hold graphs, with these.
  v1::GraphNode proto() const;
  // The fields of that message, as they are sent.
  absl::string_view fields() const { return fields_; }
  // Returns true for nodes with a child graph or branches.
  bool holds_graphs() const { return nested_ != nullptr; }

  // The device whose context runs the node; default: the session's first. Used
  // as KernelNode(...).On(1). The last call counts.
  NodeParams On(uint32_t device) &&;

 private:
  NodeParams() = default;

  absl::Status status_;
  std::string fields_;
  // The message of a node that holds graphs: conditions in it may get other
  // ids. Otherwise null.
  std::shared_ptr<const v1::GraphNode> nested_;
};

// A launch, as Launch has it. INVALID_ARGUMENT: a dimension of grid or block is
// 0. Everything else is checked when the graph is created.
NodeParams KernelNode(const LaunchConfig& config, const Kernel& kernel,
                      std::span<const Argument> arguments);
template <typename... Arguments>
NodeParams KernelNode(const LaunchConfig& config, const Kernel& kernel,
                      const Arguments&... arguments) {
  const std::array<Argument, sizeof...(Arguments)> list = {
      Argument(arguments)...};
  return KernelNode(config, kernel, std::span<const Argument>(list));
}

// Copies between buffers: all of one to another of the same size, a range, a
// box. OUT_OF_RANGE: beyond the end of a buffer. INVALID_ARGUMENT: the sizes
// differ.
NodeParams CopyNode(const Buffer& destination, const Buffer& source);
NodeParams CopyNode(const RangeCopy& copy);
// Between memory of devices and of this process; see place.h.
NodeParams CopyNode(const Place& destination, const Place& source,
                    uint64_t size);
NodeParams FillNode(const Place& destination, const Rows& rows,
                    absl::string_view pattern);
// INVALID_ARGUMENT: a box without bytes.
NodeParams CopyBoxNode(const Box& box, const BoxRange& destination,
                       const BoxRange& source);

// Fills with a repeated pattern of 1, 2 or 4 bytes: a buffer or a range of it,
// whose offset and size are multiples of the pattern's size; rows with a pitch.
// INVALID_ARGUMENT: another width of the pattern, or what is no multiple of it.
NodeParams FillBytesNode(const Buffer& buffer, const void* pattern,
                         size_t pattern_size, uint64_t offset, uint64_t size);
NodeParams FillRowBytesNode(const void* pattern, size_t pattern_size,
                            const BoxRange& range, uint64_t width,
                            uint64_t height);
// The type of the pattern has 1, 2 or 4 bytes.
template <typename T>
NodeParams FillNode(const Buffer& buffer, T pattern) {
  return FillBytesNode(buffer, &pattern, sizeof pattern, 0, buffer.size());
}
template <typename T>
NodeParams FillNode(const Buffer& buffer, T pattern, uint64_t offset,
                    uint64_t size) {
  return FillBytesNode(buffer, &pattern, sizeof pattern, offset, size);
}
template <typename T>
NodeParams FillRowsNode(T pattern, const BoxRange& range, uint64_t width,
                        uint64_t height) {
  return FillRowBytesNode(&pattern, sizeof pattern, range, width, height);
}

// Records an event, or waits for one, at each launch: edges to work outside the
// graph.
NodeParams RecordNode(const Event& event);
NodeParams WaitNode(const Event& event);

// Sets a semaphore, or waits until its value is at least this one, at each
// launch. The node is to run on the semaphore's device: On(device), if that is
// not the session's first.
NodeParams SignalNode(const Semaphore& semaphore, uint64_t value);
NodeParams WaitNode(const Semaphore& semaphore, uint64_t value);

// Does nothing: joins.
NodeParams EmptyNode();

// Allocates `memory`, made by Buffer::OfGraph, on `device`; kernels of the
// devices `accessible_from` can use it, too. FreeNode ends what it began.
// INVALID_ARGUMENT: memory of 0 bytes.
NodeParams AllocationNode(const Buffer& memory, uint32_t device,
                          const std::vector<uint32_t>& accessible_from = {});
NodeParams FreeNode(const Buffer& memory);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_NODE_PARAMS_H_
