// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/graph.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::cuda {
namespace {

#define HOLDFAST_RESULT_NAME(name) \
  case name:                       \
    return #name;

const char* InstantiateResultName(CUgraphInstantiateResult result) {
  switch (result) {
    HOLDFAST_RESULT_NAME(CUDA_GRAPH_INSTANTIATE_SUCCESS)
    HOLDFAST_RESULT_NAME(CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE)
    HOLDFAST_RESULT_NAME(CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED)
    HOLDFAST_RESULT_NAME(CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED)
    HOLDFAST_RESULT_NAME(CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED)
    default:
      return "CUDA_GRAPH_INSTANTIATE_ERROR";
  }
}

// FAILED_PRECONDITION, whatever the driver's code: an update that is refused
// leaves everything as it was.
absl::Status UpdateRefused(CUresult result, CUgraphExecUpdateResult reason) {
  const absl::Status cause = ToStatus(result, "cuGraphExecUpdate");
  if (IsSticky(result)) return cause;
  absl::Status status = absl::FailedPreconditionError(
      absl::StrCat(cause.message(), ": ", UpdateResultName(reason)));
  ErrorDetail detail = GetErrorDetail(cause).value_or(ErrorDetail());
  detail.graph_update_result = UpdateResultName(reason);
  SetErrorDetail(detail, &status);
  return status;
}

}  // namespace

const char* UpdateResultName(CUgraphExecUpdateResult result) {
  switch (result) {
    HOLDFAST_RESULT_NAME(CU_GRAPH_EXEC_UPDATE_SUCCESS)
    HOLDFAST_RESULT_NAME(CU_GRAPH_EXEC_UPDATE_ERROR)
    HOLDFAST_RESULT_NAME(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED)
    HOLDFAST_RESULT_NAME(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED)
    HOLDFAST_RESULT_NAME(CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED)
    HOLDFAST_RESULT_NAME(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED)
    HOLDFAST_RESULT_NAME(CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED)
    HOLDFAST_RESULT_NAME(CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE)
    HOLDFAST_RESULT_NAME(CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED)
    default:
      return "CU_GRAPH_EXEC_UPDATE_ERROR";
  }
}

#undef HOLDFAST_RESULT_NAME

absl::StatusOr<std::unique_ptr<Graph>> Graph::Create(
    std::shared_ptr<const Context> context) {
  HOLDFAST_CUDA_REQUIRE(context->api(), cuGraphCreate);
  HOLDFAST_CUDA_REQUIRE(context->api(), cuGraphDestroy);
  HOLDFAST_CUDA_REQUIRE(context->api(), cuGraphAddNode);
  CUgraph handle = nullptr;
  HOLDFAST_CUDA_RETURN_IF_ERROR(context->api(),
                                cuGraphCreate(&handle, /*flags=*/0));
  return std::unique_ptr<Graph>(new Graph(std::move(context), handle));
}

Graph::~Graph() {
  LogIfFailed(context_->api().cuGraphDestroy(handle_), "cuGraphDestroy");
}

absl::StatusOr<CUgraphNode> Graph::Add(CUgraph body,
                                       absl::Span<const CUgraphNode> after,
                                       GraphNode& node) {
  const DriverApi& api = context_->api();
  ScopedContext current(*context_);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  CUgraphNode added = nullptr;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api,
      cuGraphAddNode(&added, body, after.data(), /*dependencyData=*/nullptr,
                     after.size(), &node.params()));
  if (node.attributes().empty()) return added;
  HOLDFAST_CUDA_REQUIRE(api, cuGraphKernelNodeSetAttribute);
  for (const CUlaunchAttribute& attribute : node.attributes()) {
    HOLDFAST_CUDA_RETURN_IF_ERROR(
        api,
        cuGraphKernelNodeSetAttribute(added, attribute.id, &attribute.value));
  }
  return added;
}

absl::StatusOr<CUgraph> Graph::ChildOf(CUgraphNode node) const {
  HOLDFAST_CUDA_REQUIRE(context_->api(), cuGraphChildGraphNodeGetGraph);
  CUgraph child = nullptr;
  HOLDFAST_CUDA_RETURN_IF_ERROR(context_->api(),
                                cuGraphChildGraphNodeGetGraph(node, &child));
  return child;
}

absl::Span<const CUgraph> Graph::BranchesOf(const GraphNode& node) {
  const CUDA_CONDITIONAL_NODE_PARAMS& params = node.params().conditional;
  return absl::MakeConstSpan(params.phGraph_out, params.size);
}

absl::StatusOr<CUgraphConditionalHandle> Graph::CreateCondition(
    CUgraph body, const Context& context, std::optional<uint32_t> value) {
  HOLDFAST_CUDA_REQUIRE(context.api(), cuGraphConditionalHandleCreate);
  CUgraphConditionalHandle condition = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      context.api(), cuGraphConditionalHandleCreate(
                         &condition, body, context.handle(), value.value_or(0),
                         value.has_value() ? CU_GRAPH_COND_ASSIGN_DEFAULT : 0));
  return condition;
}

absl::StatusOr<std::unique_ptr<GraphExec>> GraphExec::Create(
    std::shared_ptr<const Graph> graph, uint64_t flags, CUgraphNode* failed) {
  const DriverApi& api = graph->context().api();
  HOLDFAST_CUDA_REQUIRE(api, cuGraphInstantiateWithParams);
  HOLDFAST_CUDA_REQUIRE(api, cuGraphExecDestroy);
  ScopedContext current(graph->context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  CUDA_GRAPH_INSTANTIATE_PARAMS params = {};
  params.flags = flags;
  CUgraphExec handle = nullptr;
  const CUresult result =
      api.cuGraphInstantiateWithParams(&handle, graph->handle(), &params);
  if (result == CUDA_SUCCESS) {
    return std::unique_ptr<GraphExec>(new GraphExec(std::move(graph), handle));
  }
  *failed = params.hErrNode_out;
  return WithPrefix(InstantiateResultName(params.result_out),
                    ToStatus(result, "cuGraphInstantiateWithParams"));
}

GraphExec::~GraphExec() {
  LogIfFailed(api().cuGraphExecDestroy(handle_), "cuGraphExecDestroy");
}

absl::Status GraphExec::Upload(const Stream& stream) {
  HOLDFAST_CUDA_REQUIRE(api(), cuGraphUpload);
  ScopedContext current(stream.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_RETURN_IF_ERROR(api(), cuGraphUpload(handle_, stream.handle()));
  return absl::OkStatus();
}

absl::Status GraphExec::Launch(const Stream& stream) {
  HOLDFAST_CUDA_REQUIRE(api(), cuGraphLaunch);
  ScopedContext current(stream.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_RETURN_IF_ERROR(api(), cuGraphLaunch(handle_, stream.handle()));
  return absl::OkStatus();
}

absl::Status GraphExec::SetNode(CUgraphNode node, const GraphNode& parameters) {
  HOLDFAST_CUDA_REQUIRE(api(), cuGraphExecNodeSetParams);
  ScopedContext current(graph_->context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  CUgraphNodeParams params = parameters.params();
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api(), cuGraphExecNodeSetParams(handle_, node, &params));
  return absl::OkStatus();
}

absl::Status GraphExec::SetEnabled(CUgraphNode node, bool enabled) {
  HOLDFAST_CUDA_REQUIRE(api(), cuGraphNodeSetEnabled);
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api(), cuGraphNodeSetEnabled(handle_, node, enabled ? 1 : 0));
  return absl::OkStatus();
}

absl::Status GraphExec::Update(const Graph& graph, CUgraphNode* failed) {
  HOLDFAST_CUDA_REQUIRE(api(), cuGraphExecUpdate);
  ScopedContext current(graph_->context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  CUgraphExecUpdateResultInfo info = {};
  const CUresult result =
      api().cuGraphExecUpdate(handle_, graph.handle(), &info);
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  *failed = info.errorNode;
  return UpdateRefused(result, info.result);
}

}  // namespace holdfast::cuda
