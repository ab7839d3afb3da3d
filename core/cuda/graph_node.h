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

// One node of a graph as cuGraphAddNode and cuGraphExecNodeSetParams take it:
// CUgraphNodeParams, and copies of all that it points to. Resources are named,
// not owned: kernel, memory and events must outlive whatever is made of it.
// Move-only; what it points to does not move with it.
//
// An executor makes nodes of a client's commands with the functions below, then
// adds them to a Graph (graph.h), or updates a GraphExec's nodes with them.
class GraphNode {
 public:
  // Does nothing: CU_GRAPH_NODE_TYPE_EMPTY. For edges only: it joins many nodes
  // to many others.
  GraphNode();
  GraphNode(GraphNode&&) = default;
  GraphNode& operator=(GraphNode&&) = default;

  // Checked as Launch is. INVALID_ARGUMENT also: an attribute that only
  // launches into streams have. Copies the arguments' bytes.
  static absl::StatusOr<GraphNode> Launch(
      const LaunchConfig& config, const Kernel& kernel,
      absl::Span<const KernelArgument> arguments);

  // Copies of boxes, as CopyBoxAsync, and of memory: a box of one row. Between
  // any two contexts; `context` runs the copy. REQUIRES: a box with bytes.
  static GraphNode Copy(const Context& context, const Box& box,
                        const BoxPlace& destination, const BoxPlace& source);

  // Checked as FillBoxAsync is. REQUIRES: a box with bytes.
  static absl::StatusOr<GraphNode> Fill(const Context& context, const Box& box,
                                        CUdeviceptr destination,
                                        const Pitches& pitches,
                                        uint32_t pattern,
                                        uint32_t pattern_bytes);

  // Both name the event as it is when the graph runs, not as it is now.
  static GraphNode Record(const Event& event);
  static GraphNode Wait(const Event& event);

  // Writes 64 bits of device memory, or waits until they are at least `value`:
  // as WriteValueAsync and WaitValueAsync do in a stream.
  static GraphNode WriteValue(const Context& context, CUdeviceptr address,
                              uint64_t value);
  static GraphNode WaitValue(const Context& context, CUdeviceptr address,
                             uint64_t value);

  // Writes and waits for values, in this order: as BatchValuesAsync.
  static GraphNode BatchValues(
      const Context& context,
      absl::Span<const CUstreamBatchMemOpParams> operations);

  // A clone of `graph`, which Graph::ChildOf gives access to.
  static GraphNode Child(CUgraph graph);

  // Runs branches by the value of `condition`, see Graph::BranchesOf. IF has
  // one or two of them, WHILE one.
  static GraphNode Conditional(const Context& context,
                               CUgraphConditionalHandle condition,
                               CUgraphConditionalNodeType type,
                               unsigned branches);

  // Fixed when the node is made.
  CUgraphNodeType type() const { return params_.type; }

  // Returns true if the driver would make the same node of both. May return
  // false for equal nodes. True says that an update of a graph can skip the
  // node. Compares pointers by value, and a kernel's arguments byte by byte.
  bool IsSameAs(const GraphNode& other) const;
  // Compares attributes() by their bytes: those that are not used are 0.
  bool SameAttributes(const GraphNode& other) const;

  // For the driver, which writes results into it.
  CUgraphNodeParams& params() { return params_; }
  const CUgraphNodeParams& params() const { return params_; }

  // A kernel's, to be set once the node is there. Empty for nodes of other
  // types. Valid as long as the node.
  absl::Span<const CUlaunchAttribute> attributes() const { return attributes_; }

 private:
  explicit GraphNode(CUgraphNodeType type);
  // Copies values into memory of the node's own, each aligned as any type
  // needs.
  void CopyArguments(absl::Span<const KernelArgument> arguments);
  bool SameArguments(const GraphNode& other) const;

  CUgraphNodeParams params_;
  // A kernel's: pointers to its arguments, then the arguments.
  std::unique_ptr<std::byte[]> arguments_;
  size_t pointer_bytes_ = 0;
  size_t argument_bytes_ = 0;
  std::vector<CUlaunchAttribute> attributes_;
  std::vector<CUstreamBatchMemOpParams> operations_;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_GRAPH_NODE_H_
