// SPDX-License-Identifier: Apache-2.0
//
// The functions that CUDA 10 to 12 had under the same names, as programs built
// with those look them up: without edge data, and with kernels as functions.
#include <cstring>
#include <utility>

#include "cudaTypedefs.h"
#include "tests/conformance/graph/graph_api.h"

namespace holdfast::conformance {
namespace {

// Those that cudaTypedefs.h keeps for the driver's own use.
using InstantiateFunction = CUresult (*)(CUgraphExec*, CUgraph, CUgraphNode*,
                                         char*, size_t);
using BeginCaptureFunction = CUresult (*)(CUstream);

template <typename Function>
Function At(int version, const char* name) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status;
  EXPECT_OK(
      Cuda().get_proc_address(name, &found, version, /*flags=*/0, &status));
  EXPECT_NE(found, nullptr) << name << " of " << version;
  return reinterpret_cast<Function>(found);
}

class VersionsTest : public GraphTest {
 protected:
  // to = to * factor + from, as a node of a CUDA 10 program.
  CUDA_KERNEL_NODE_PARAMS_v1 OldAffine(Arguments& arguments) const {
    const CUDA_KERNEL_NODE_PARAMS now = AffineOf(arguments);
    CUDA_KERNEL_NODE_PARAMS_v1 old{};
    old.func = affine_;
    old.gridDimX = now.gridDimX;
    old.gridDimY = now.gridDimY;
    old.gridDimZ = now.gridDimZ;
    old.blockDimX = now.blockDimX;
    old.blockDimY = now.blockDimY;
    old.blockDimZ = now.blockDimZ;
    old.kernelParams = now.kernelParams;
    return old;
  }

  CUgraphNode AddOldAffine(unsigned factor, const Nodes& after = {}) {
    Arguments arguments{array(0), array(1), factor};
    const CUDA_KERNEL_NODE_PARAMS_v1 parameters = OldAffine(arguments);
    CUgraphNode node = nullptr;
    EXPECT_OK(
        At<PFN_cuGraphAddKernelNode_v10000>(10000, "cuGraphAddKernelNode")(
            &node, graph_, after.data(), after.size(), &parameters));
    return node;
  }
};

TEST_F(VersionsTest, KernelNodesHaveFunctions) {
  const CUgraphNode fill = AddFill(1, 5);
  const CUgraphNode node = AddOldAffine(1, {fill});
  CUDA_KERNEL_NODE_PARAMS_v1 found{};
  ASSERT_OK(At<PFN_cuGraphKernelNodeGetParams_v10000>(
      10000, "cuGraphKernelNodeGetParams")(node, &found));
  EXPECT_EQ(found.func, affine_);
  EXPECT_EQ(found.blockDimY, 1u);
  Arguments arguments{array(0), array(1), 2};
  const CUDA_KERNEL_NODE_PARAMS_v1 twice = OldAffine(arguments);
  ASSERT_OK(At<PFN_cuGraphKernelNodeSetParams_v10000>(
      10000, "cuGraphKernelNodeSetParams")(node, &twice));
  const CUgraphExec exec = GraphTest::Instantiate();
  Run(exec);
  Run(exec);
  ExpectArray(0, 15);
  arguments.factor = 0;
  ASSERT_OK(At<PFN_cuGraphExecKernelNodeSetParams_v10010>(
      10010, "cuGraphExecKernelNodeSetParams")(exec, node, &twice));
  Run(exec);
  ExpectArray(0, 5);
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
}

TEST_F(VersionsTest, EdgesHaveNoData) {
  const CUgraphNode from = AddFill(1, 5);
  const CUgraphNode to = AddOldAffine(1);
  ASSERT_OK(At<PFN_cuGraphAddDependencies_v10000>(
      10000, "cuGraphAddDependencies")(graph_, &from, &to, 1));
  CUgraphNode begin = nullptr, end = nullptr;
  size_t count = 1;
  ASSERT_OK(At<PFN_cuGraphGetEdges_v10000>(10000, "cuGraphGetEdges")(
      graph_, &begin, &end, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(begin, from);
  EXPECT_EQ(end, to);
  ASSERT_OK(At<PFN_cuGraphNodeGetDependencies_v10000>(
      10000, "cuGraphNodeGetDependencies")(to, &begin, &count));
  EXPECT_EQ(begin, from);
  ASSERT_OK(At<PFN_cuGraphNodeGetDependentNodes_v10000>(
      10000, "cuGraphNodeGetDependentNodes")(from, &end, &count));
  EXPECT_EQ(end, to);
  ASSERT_OK(At<PFN_cuGraphRemoveDependencies_v10000>(
      10000, "cuGraphRemoveDependencies")(graph_, &from, &to, 1));
  ASSERT_OK(At<PFN_cuGraphGetEdges_v10000>(10000, "cuGraphGetEdges")(
      graph_, nullptr, nullptr, &count));
  EXPECT_EQ(count, 0u);
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUgraphNode empty = nullptr;
  EXPECT_OK(At<PFN_cuGraphAddNode_v12020>(12020, "cuGraphAddNode")(
      &empty, graph_, &to, 1, &parameters));
}

TEST_F(VersionsTest, InstantiatingHasNoNodeToTell) {
  const CUgraphNode fill = AddFill(0, 7);
  for (const int version : {10000, 11000}) {
    const auto instantiate =
        At<InstantiateFunction>(version, "cuGraphInstantiate");
    CUgraphExec exec = nullptr;
    CUgraphNode failed = fill;
    ASSERT_OK(instantiate(&exec, graph_, &failed, nullptr, 0));
    EXPECT_EQ(failed, nullptr);
    Run(exec);
    ExpectArray(0, 7);
    EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
    ASSERT_OK(instantiate(&exec, graph_, nullptr, nullptr, 0));
    EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
  }
}

TEST_F(VersionsTest, InstantiatingACycleTellsNoNodeOfIt) {
  const CUgraphNode a = AddEmpty();
  const CUgraphNode b = AddEmpty({a});
  ASSERT_OK(Graphs().cuGraphAddDependencies_v2(graph_, &b, &a, nullptr, 1));
  for (const int version : {10000, 11000}) {
    const auto instantiate =
        At<InstantiateFunction>(version, "cuGraphInstantiate");
    CUgraphExec exec = nullptr;
    CUgraphNode failed = a;
    // The text, if there is any, is the driver's own; it has an end.
    char log[64];
    memset(log, 'x', sizeof log);
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
                instantiate(&exec, graph_, &failed, log, sizeof log));
    EXPECT_EQ(failed, nullptr);
    EXPECT_LT(strnlen(log, sizeof log), sizeof log);
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
                instantiate(&exec, graph_, nullptr, nullptr, 0));
  }
}

TEST_F(VersionsTest, UpdatesTellTheNodeAndTheReason) {
  const CUgraphNode fill = AddFill(0, 7);
  const CUgraphExec exec = GraphTest::Instantiate();
  const auto update =
      At<PFN_cuGraphExecUpdate_v10020>(10020, "cuGraphExecUpdate");
  CUgraphNode failed = fill;
  auto reason = CU_GRAPH_EXEC_UPDATE_ERROR;
  ASSERT_OK(update(exec, graph_, &failed, &reason));
  EXPECT_EQ(failed, nullptr);
  EXPECT_EQ(reason, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  // A copy in place of the fill.
  const CUgraph first = std::exchange(graph_, nullptr);
  ASSERT_OK(Graphs().cuGraphCreate(&graph_, 0));
  const CUgraphNode copy = AddCopy(0, 1);
  EXPECT_CUDA(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
              update(exec, graph_, &failed, &reason));
  EXPECT_EQ(failed, copy);
  EXPECT_EQ(reason, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  // One more node than there were.
  AddFill(1, 8);
  EXPECT_CUDA(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
              update(exec, graph_, &failed, &reason));
  EXPECT_EQ(failed, nullptr);
  EXPECT_EQ(reason, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED);
  EXPECT_OK(Graphs().cuGraphDestroy(first));
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
}

TEST_F(VersionsTest, CapturesAreSeenAndChanged) {
  ASSERT_OK(At<BeginCaptureFunction>(10000, "cuStreamBeginCapture")(stream_));
  ASSERT_OK(Cuda().cuMemsetD32Async(array(0), 3, kWords, stream_));
  auto status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  EXPECT_OK(At<PFN_cuStreamGetCaptureInfo_v10010>(
      10010, "cuStreamGetCaptureInfo")(stream_, &status, &id));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_NE(id, 0u);
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  size_t count = 0;
  EXPECT_OK(
      At<PFN_cuStreamGetCaptureInfo_v11030>(11030, "cuStreamGetCaptureInfo")(
          stream_, &status, &id, &graph, &nodes, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_OK(At<PFN_cuStreamUpdateCaptureDependencies_v11030>(
      11030, "cuStreamUpdateCaptureDependencies")(
      stream_, nullptr, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  ASSERT_OK(Cuda().cuMemsetD32Async(array(1), 4, kWords, stream_));
  ASSERT_OK(Graphs().cuStreamEndCapture(stream_, &graph));
  size_t edges = 1;
  EXPECT_OK(
      Graphs().cuGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(edges, 0u);
  EXPECT_OK(Graphs().cuGraphDestroy(graph));
}

TEST_F(VersionsTest, CapturedEdgesWithDataAreNotTold) {
  const CUgraphNode kernel = AddAffine(1, 0, 1);
  CUgraphEdgeData edge{};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  ASSERT_OK(Graphs().cuStreamBeginCaptureToGraph(
      stream_, graph_, &kernel, &edge, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
  auto status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  size_t count = 0;
  EXPECT_CUDA(
      CUDA_ERROR_LOSSY_QUERY,
      At<PFN_cuStreamGetCaptureInfo_v11030>(11030, "cuStreamGetCaptureInfo")(
          stream_, &status, &id, &graph, &nodes, &count));
  EXPECT_OK(At<PFN_cuStreamGetCaptureInfo_v10010>(
      10010, "cuStreamGetCaptureInfo")(stream_, &status, &id));
  EXPECT_OK(Graphs().cuStreamEndCapture(stream_, &graph));
}

}  // namespace
}  // namespace holdfast::conformance
