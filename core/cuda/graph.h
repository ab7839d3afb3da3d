// SPDX-License-Identifier: Apache-2.0
//
// Graphs of work: defined node by node, instantiated, launched as one
// operation of a stream.
//
//   HOLDFAST_ASSIGN_OR_RETURN(auto graph, Graph::Create(context));
//   HOLDFAST_ASSIGN_OR_RETURN(CUgraphNode fill, graph->Add(graph->handle(), {},
//                                                          node));
//   HOLDFAST_ASSIGN_OR_RETURN(auto exec, GraphExec::Create(graph, {}));
//   HOLDFAST_RETURN_IF_ERROR(exec->Launch(*stream));
#ifndef HOLDFAST_CORE_CUDA_GRAPH_H_
#define HOLDFAST_CORE_CUDA_GRAPH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/cuda/context.h"
#include "core/cuda/graph_node.h"
#include "core/cuda/stream.h"
#include "cuda.h"

namespace holdfast::cuda {

// A graph's definition: cuGraphCreate. Nodes name kernels, memory and events,
// which must outlive the graph and what is instantiated from it. Not
// thread-safe, as CUDA's graphs are not.
class Graph {
 public:
  static absl::StatusOr<std::unique_ptr<Graph>> Create(
      std::shared_ptr<const Context> context);
  // Also of child graphs and branches.
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  CUgraph handle() const { return handle_; }
  const Context& context() const { return *context_; }

  // Adds a node to `body`: handle(), or what ChildOf or BranchesOf returned.
  // cuGraphAddNode, cuGraphKernelNodeSetAttribute.
  absl::StatusOr<CUgraphNode> Add(CUgraph body,
                                  absl::Span<const CUgraphNode> after,
                                  GraphNode& node);

  // The graph in a child node, to which nodes can be added. Ends with this.
  absl::StatusOr<CUgraph> ChildOf(CUgraphNode node) const;
  // The graphs of a conditional node that was added. End with this.
  static absl::Span<const CUgraph> BranchesOf(const GraphNode& node);

  // A value that kernels of `context` set and a conditional node tests, which
  // stands in `body` or below. cuGraphConditionalHandleCreate: `value` is set
  // at each launch, if given.
  absl::StatusOr<CUgraphConditionalHandle> CreateCondition(
      CUgraph body, const Context& context, std::optional<uint32_t> value);

 private:
  Graph(std::shared_ptr<const Context> context, CUgraph handle)
      : context_(std::move(context)), handle_(handle) {}

  const std::shared_ptr<const Context> context_;
  const CUgraph handle_;
};

// "CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED"
const char* UpdateResultName(CUgraphExecUpdateResult result);

// A graph that can be launched. Launches of one run one after the other. Not
// thread-safe. Destroying it does not wait: launches still complete.
class GraphExec {
 public:
  // `flags` are CUDA_GRAPH_INSTANTIATE_FLAG_*. `failed` gets the node that
  // cannot be instantiated, if the driver tells.
  static absl::StatusOr<std::unique_ptr<GraphExec>> Create(
      std::shared_ptr<const Graph> graph, uint64_t flags, CUgraphNode* failed);
  ~GraphExec();
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;

  absl::Status Upload(const Stream& stream);
  absl::Status Launch(const Stream& stream);

  // For launches from now on. `node` is of the graph that this was made of.
  // cuGraphExecNodeSetParams, cuGraphNodeSetEnabled.
  absl::Status SetNode(CUgraphNode node, const GraphNode& parameters);
  absl::Status SetEnabled(CUgraphNode node, bool enabled);

  // Takes over all parameters of a graph of the same topology, for launches
  // from now on: cuGraphExecUpdate. FAILED_PRECONDITION: it cannot, and nothing
  // has changed; ErrorDetail.graph_update_result has the reason, and `failed`
  // gets the node of `graph`, if there is one.
  absl::Status Update(const Graph& graph, CUgraphNode* failed);

 private:
  GraphExec(std::shared_ptr<const Graph> graph, CUgraphExec handle)
      : graph_(std::move(graph)), handle_(handle) {}
  const DriverApi& api() const { return graph_->context().api(); }

  // Its nodes name the nodes here.
  const std::shared_ptr<const Graph> graph_;
  const CUgraphExec handle_;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_GRAPH_H_
