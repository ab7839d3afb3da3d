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

// A graph's definition: cuGraphCreate. Nodes refer to kernels, memory and
// events, which must outlive the graph and its instances. Not thread-safe, like
// CUDA's graphs. All functions of both classes return UNIMPLEMENTED if the
// driver lacks the function that they need, and otherwise fail as the driver
// does.
class Graph {
 public:
  // Makes an empty graph.
  static absl::StatusOr<std::unique_ptr<Graph>> Create(
      std::shared_ptr<const Context> context);
  // Destroys the graph, its child graphs and the branches of conditional nodes.
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  CUgraph handle() const { return handle_; }
  const Context& context() const { return *context_; }

  // Adds a node to `body`, and returns its handle, which is valid as long as
  // this graph: cuGraphAddNode, cuGraphKernelNodeSetAttribute. `body` is
  // handle() or a result of ChildOf or BranchesOf. `after` has the nodes of
  // `body` on which the node depends. The driver may write results into `node`,
  // for BranchesOf.
  absl::StatusOr<CUgraphNode> Add(CUgraph body,
                                  absl::Span<const CUgraphNode> after,
                                  GraphNode& node);

  // Returns the graph of a child node, to which nodes can be added. The result
  // is valid as long as this graph.
  absl::StatusOr<CUgraph> ChildOf(CUgraphNode node) const;
  // Returns the body graphs of a conditional node, to which nodes can be added.
  // REQUIRES: Add has added `node`. The span and its handles are valid as long
  // as the graph to which `node` was added.
  static absl::Span<const CUgraph> BranchesOf(const GraphNode& node);

  // Makes a condition: a number that kernels of `context` set, and that a
  // conditional node in `body` or in a graph within it tests. If `value` is
  // given, each launch begins by setting the condition to it.
  // cuGraphConditionalHandleCreate.
  absl::StatusOr<CUgraphConditionalHandle> CreateCondition(
      CUgraph body, const Context& context, std::optional<uint32_t> value);

 private:
  Graph(std::shared_ptr<const Context> context, CUgraph handle)
      : context_(std::move(context)), handle_(handle) {}

  const std::shared_ptr<const Context> context_;
  const CUgraph handle_;
};

// Returns the name of the constant, such as
// "CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED".
const char* UpdateResultName(CUgraphExecUpdateResult result);

// An instantiated graph: cuGraphInstantiate. Its launches run one after the
// other. Not thread-safe. The destructor does not wait, and unfinished launches
// still complete.
class GraphExec {
 public:
  // Instantiates a graph, and keeps it alive. `flags` are
  // CUDA_GRAPH_INSTANTIATE_FLAG_*. On failure, sets *failed to the node that
  // cannot be instantiated; null if the driver does not report it.
  static absl::StatusOr<std::unique_ptr<GraphExec>> Create(
      std::shared_ptr<const Graph> graph, uint64_t flags, CUgraphNode* failed);
  ~GraphExec();
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;

  // Enqueues the upload of the graph to the device, so that its first launch
  // need not do that: cuGraphUpload.
  absl::Status Upload(const Stream& stream);
  // Enqueues a launch: cuGraphLaunch. Later calls return errors of the work.
  absl::Status Launch(const Stream& stream);

  // Change the parameters of a node, or enable or disable it, for later
  // launches: cuGraphExecNodeSetParams, cuGraphNodeSetEnabled. `node` is a node
  // of the graph that Create instantiated.
  absl::Status SetNode(CUgraphNode node, const GraphNode& parameters);
  absl::Status SetEnabled(CUgraphNode node, bool enabled);

  // Copies the parameters of all nodes of `graph`, which has the same topology,
  // for later launches: cuGraphExecUpdate. FAILED_PRECONDITION: the driver
  // refused the update, and nothing has changed.
  // ErrorDetail.graph_update_result then has the reason, and *failed is the
  // node of `graph` that caused it; null if the driver reports none.
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
