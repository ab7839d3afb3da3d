// SPDX-License-Identifier: Apache-2.0
//
// The parameters of one node (node_value.h): its work, without its
// dependencies. Each kind of node has a function that makes its parameters. The
// parameters are used to add a node to a GraphDefinition, or to change a node
// of a GraphDefinition or a GraphExec. The parameters store the errors listed
// below, and the call that uses them reports the first error.
//
//   definition.Add(KernelNode({.grid = 64, .block = 256}, scale, x, 2.0f));
//   exec.Update(node, KernelNode({.grid = 64, .block = 256}, scale, y, 3.0f));
//
// Parameters refer to kernels, buffers and events by handle. The resources must
// live until Graph::Create has created the graph, which then keeps them.
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_NODE_PARAMS_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_NODE_PARAMS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/cpp/box_copy.h"
#include "client/cpp/buffer.h"
#include "client/cpp/event.h"
#include "client/cpp/graph/definition/node_value.h"
#include "client/cpp/launch.h"
#include "client/cpp/place.h"
#include "client/cpp/semaphore.h"
#include "client/cpp/value_batch.h"

namespace holdfast {

// Launches a kernel; see Launch. INVALID_ARGUMENT: a dimension of grid or block
// is 0, or an argument is an empty resource. OUT_OF_RANGE: grid or block
// exceeds the limits of every device. The limits of the kernel's own device and
// the types of arguments are checked when the graph is created.
NodeParams KernelNode(const LaunchConfig& config, const Kernel& kernel,
                      std::span<const Argument> arguments);
template <typename... Arguments>
NodeParams KernelNode(const LaunchConfig& config, const Kernel& kernel,
                      const Arguments&... arguments) {
  const std::array<Argument, sizeof...(Arguments)> list = {
      Argument::Of(arguments)...};
  return KernelNode(config, kernel, std::span<const Argument>(list));
}

// Copy between buffers: a whole buffer to another buffer of the same size, a
// range, or a box. OUT_OF_RANGE: a range is beyond the end of its buffer.
// INVALID_ARGUMENT: the sizes differ.
NodeParams CopyNode(const Buffer& destination, const Buffer& source);
NodeParams CopyNode(const RangeCopy& copy);
// Copy or fill memory of devices or of this process; see place.h.
NodeParams CopyNode(const Place& destination, const Place& source,
                    uint64_t size);
NodeParams FillNode(const Place& destination, const Rows& rows,
                    absl::string_view pattern);
// Copies a box; see CopyBox. INVALID_ARGUMENT: the box has no bytes.
NodeParams CopyBoxNode(const Box& box, const BoxRange& destination,
                       const BoxRange& source);

// Fill a buffer, a range or rows with a repeated pattern of 1, 2 or 4 bytes.
// Offset, size, width and pitch must be multiples of the pattern's size.
// INVALID_ARGUMENT: they are not, or the pattern has another size.
// OUT_OF_RANGE: the bytes are beyond the end of the buffer.
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

// Records an event, or waits for one, at each launch. Events connect the graph
// with work outside of it.
NodeParams RecordNode(const Event& event);
NodeParams WaitNode(const Event& event);

// Sets a semaphore, or waits until its value is at least `value`, at each
// launch. The node must run on the semaphore's device: use NodeParams::On if
// this device is not the session's first.
NodeParams SignalNode(const Semaphore& semaphore, uint64_t value);
NodeParams WaitNode(const Semaphore& semaphore, uint64_t value);

// Writes values to memory and waits for values in memory, in the order of
// `operations`. See NodeParams::On for the node's device.
NodeParams ValuesNode(std::span<const ValueOperation> operations);

// Does nothing; joins its dependencies.
NodeParams EmptyNode();

// Allocates `memory`, made by Buffer::OfGraph, on `device`. Kernels of the
// devices in `accessible_from` can use it, too. FreeNode frees it.
// INVALID_ARGUMENT: the memory has 0 bytes.
NodeParams AllocationNode(const Buffer& memory, uint32_t device,
                          const std::vector<uint32_t>& accessible_from = {});
NodeParams FreeNode(const Buffer& memory);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_NODE_PARAMS_H_
