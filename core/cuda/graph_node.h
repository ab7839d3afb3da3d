// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_GRAPH_NODE_H_
#define HOLDFAST_CORE_CUDA_GRAPH_NODE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/cuda/box.h"
#include "core/cuda/event.h"
#include "core/cuda/kernel.h"
#include "core/cuda/launch.h"
#include "cuda.h"

namespace holdfast::cuda {

// One node of a graph for cuGraphAddNode and cuGraphExecNodeSetParams: a
// CUgraphNodeParams, and copies of the data to which it points. Does not own
// its resources: kernel, memory and events must outlive the graphs with this
// node. Move-only; a move does not move the copied data.
//
// An executor makes nodes from a client's commands with the functions below. It
// adds them to a Graph (graph.h), or updates the nodes of a GraphExec with
// them.
class GraphNode {
 public:
  // CU_GRAPH_NODE_TYPE_EMPTY: does nothing, and joins the edges of other nodes.
  GraphNode();
  GraphNode(GraphNode&&) = default;
  GraphNode& operator=(GraphNode&&) = default;

  // A launch, with the checks of cuda::Launch. Copies the arguments' bytes.
  // INVALID_ARGUMENT also: an attribute that only launches into streams have.
  static absl::StatusOr<GraphNode> Launch(
      const LaunchConfig& config, const Kernel& kernel,
      absl::Span<const KernelArgument> arguments);

  // A copy of a box, as CopyBoxAsync, or of memory, as a box of one row. The
  // two sides may have any contexts; `context` runs the copy. REQUIRES: the box
  // is not empty.
  static GraphNode Copy(const Context& context, const Box& box,
                        const BoxPlace& destination, const BoxPlace& source);

  // A fill, with the checks of FillBoxAsync. REQUIRES: the box is not empty.
  static absl::StatusOr<GraphNode> Fill(const Context& context, const Box& box,
                                        CUdeviceptr destination,
                                        const Pitches& pitches,
                                        uint32_t pattern,
                                        uint32_t pattern_bytes);

  // Record an event, or wait for one. A wait refers to the event's record at
  // the time of the launch.
  static GraphNode Record(const Event& event);
  static GraphNode Wait(const Event& event);

  // Write 64 bits of device memory, or wait until they are at least `value`, as
  // WriteValueAsync and WaitValueAsync do in a stream.
  static GraphNode WriteValue(const Context& context, CUdeviceptr address,
                              uint64_t value);
  static GraphNode WaitValue(const Context& context, CUdeviceptr address,
                             uint64_t value);

  // Does the writes and waits of `operations` in their order, as
  // BatchValuesAsync does. Copies `operations`.
  static GraphNode BatchValues(
      const Context& context,
      absl::Span<const CUstreamBatchMemOpParams> operations);

  // Runs a clone of `graph`, which Graph::ChildOf returns after the node was
  // added.
  static GraphNode Child(CUgraph graph);

  // Runs a branch, or repeats it, depending on the value of `condition`.
  // `branches` is 1 or 2 for IF, and 1 for WHILE. Graph::BranchesOf returns the
  // branches.
  static GraphNode Conditional(const Context& context,
                               CUgraphConditionalHandle condition,
                               CUgraphConditionalNodeType type,
                               unsigned branches);

  // The type of the node, which never changes.
  CUgraphNodeType type() const { return params_.type; }

  // Returns true if both nodes have the same parameters, so that an update of a
  // graph can skip the node. May return false for nodes that do the same.
  // Compares pointers by value, and a kernel's arguments by their bytes.
  bool IsSameAs(const GraphNode& other) const;
  // Returns true if attributes() of both nodes are equal. Compares bytes;
  // unused bytes are 0.
  bool SameAttributes(const GraphNode& other) const;

  // The parameters for the driver, which writes results into them. They refer
  // to this object, and are valid as long as it.
  CUgraphNodeParams& params() { return params_; }
  const CUgraphNodeParams& params() const { return params_; }

  // The attributes of a kernel node, to be set after it was added. Empty for
  // other nodes. Valid as long as this object.
  absl::Span<const CUlaunchAttribute> attributes() const { return attributes_; }

 private:
  explicit GraphNode(CUgraphNodeType type);
  // Copies the values into the node's own memory, aligned for any type.
  void CopyArguments(absl::Span<const KernelArgument> arguments);
  bool SameArguments(const GraphNode& other) const;

  CUgraphNodeParams params_;
  // The memory of a kernel node's arguments: first pointers to the arguments,
  // then the arguments.
  std::unique_ptr<std::byte[]> arguments_;
  size_t pointer_bytes_ = 0;
  size_t argument_bytes_ = 0;
  std::vector<CUlaunchAttribute> attributes_;
  std::vector<CUstreamBatchMemOpParams> operations_;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_GRAPH_NODE_H_
