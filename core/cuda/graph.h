// SPDX-License-Identifier: Apache-2.0
//
// Graphs of work. A graph is defined node by node, instantiated, and launched
// as one operation of a stream.
//
//   HOLDFAST_ASSIGN_OR_RETURN(auto graph, Graph::Create(context));
//   HOLDFAST_ASSIGN_OR_RETURN(CUgraphNode fill, graph->Add(graph->handle(), {},
//                                                          node));
//   HOLDFAST_ASSIGN_OR_RETURN(
//       auto exec, GraphExec::Create(std::move(graph), /*flags=*/0, &failed));
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
// which must outlive the graph and its instances. Not thread-safe, like CUDA's
// graphs.
class Graph {
 public:
  static absl::StatusOr<std::unique_ptr<Graph>> Create(
      std::shared_ptr<const Context> context);
  // Destroys also child graphs and branches.
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  CUgraph handle() const { return handle_; }
  const Context& context() const { return *context_; }

  // Adds a node to `body`, which is handle() or a result of ChildOf or
  // BranchesOf: cuGraphAddNode, cuGraphKernelNodeSetAttribute.
  absl::StatusOr<CUgraphNode> Add(CUgraph body,
                                  absl::Span<const CUgraphNode> after,
                                  GraphNode& node);

  // Returns the graph in a child node, to which nodes can be added. It ends
  // with this graph.
  absl::StatusOr<CUgraph> ChildOf(CUgraphNode node) const;
  // Returns the graphs of a conditional node after Add. They end with this
  // graph.
  static absl::Span<const CUgraph> BranchesOf(const GraphNode& node);

  // Makes a condition, which kernels of `context` set and a conditional node in
  // `body` or below tests: cuGraphConditionalHandleCreate. If `value` is given,
  // each launch sets it first.
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

// An executable graph. Its launches run one after the other. Not thread-safe.
// The destructor does not wait, and unfinished launches still complete.
class GraphExec {
 public:
  // `flags` are CUDA_GRAPH_INSTANTIATE_FLAG_*. `failed`, not null, gets the
  // node that cannot be instantiated, if the driver reports it.
  static absl::StatusOr<std::unique_ptr<GraphExec>> Create(
      std::shared_ptr<const Graph> graph, uint64_t flags, CUgraphNode* failed);
  ~GraphExec();
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;

  absl::Status Upload(const Stream& stream);
  absl::Status Launch(const Stream& stream);

  // Change a node for later launches: cuGraphExecNodeSetParams,
  // cuGraphNodeSetEnabled. `node` belongs to the instantiated graph.
  absl::Status SetNode(CUgraphNode node, const GraphNode& parameters);
  absl::Status SetEnabled(CUgraphNode node, bool enabled);

  // cuGraphExecUpdate: takes over all parameters of a graph with the same
  // topology, for later launches. FAILED_PRECONDITION: that is not possible,
  // and nothing has changed; ErrorDetail.graph_update_result has the reason,
  // and `failed` gets the node of `graph`, if there is one.
  absl::Status Update(const Graph& graph, CUgraphNode* failed);

 private:
  GraphExec(std::shared_ptr<const Graph> graph, CUgraphExec handle)
      : graph_(std::move(graph)), handle_(handle) {}
  const DriverApi& api() const { return graph_->context().api(); }

  // CUDA names a node of the instance by the node of this graph.
  const std::shared_ptr<const Graph> graph_;
  const CUgraphExec handle_;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_GRAPH_H_
