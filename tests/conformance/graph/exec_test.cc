// SPDX-License-Identifier: Apache-2.0
//
// Instantiated graphs: launches, updates, switched nodes, child graphs, events.
#include "tests/conformance/graph/graph_api.h"

namespace holdfast::conformance {
namespace {

class Exec : public GraphTest {
 protected:
  void TearDown() override {
    if (exec_ != nullptr) {
      EXPECT_OK(Graphs().cuGraphExecDestroy(exec_));
    }
    GraphTest::TearDown();
  }
  // Updates `exec_` from another graph, which goes afterwards.
  CUgraphExecUpdateResultInfo Update(CUgraph graph, CUresult expected) {
    CUgraphExecUpdateResultInfo info{};
    EXPECT_CUDA(expected, Graphs().cuGraphExecUpdate_v2(exec_, graph, &info));
    EXPECT_OK(Graphs().cuGraphDestroy(graph));
    return info;
  }
  CUgraph NewGraph() {
    CUgraph graph = nullptr;
    EXPECT_OK(Graphs().cuGraphCreate(&graph, 0));
    return graph;
  }

  CUgraphExec exec_ = nullptr;
};

TEST_F(Exec, LaunchesFollowEachOther) {
  const CUgraphNode fill = AddFill(0, 1);
  AddAffine(1, 0, 1, {fill});
  exec_ = Instantiate();
  CUstream other = nullptr;
  ASSERT_OK(Cuda().cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  // One graph never runs beside itself, whatever the streams.
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(Graphs().cuGraphLaunch(exec_, i % 2 == 0 ? stream_ : other));
  }
  EXPECT_OK(Cuda().cuStreamSynchronize(other));
  EXPECT_OK(Cuda().cuStreamSynchronize(stream_));
  ExpectArray(1, 100);
  EXPECT_OK(Cuda().cuStreamDestroy_v2(other));
}

TEST_F(Exec, ChangesOfTheDefinitionComeTooLate) {
  const CUgraphNode fill = AddFill(0, 1);
  exec_ = Instantiate();
  const CUDA_MEMSET_NODE_PARAMS changed = FillOf(0, 2);
  ASSERT_OK(Graphs().cuGraphMemsetNodeSetParams(fill, &changed));
  ASSERT_OK(Graphs().cuGraphDestroyNode(fill));
  Run(exec_);
  ExpectArray(0, 1);
}

TEST_F(Exec, NodesGetNewParameters) {
  const CUgraphNode fill = AddFill(0, 1);
  const CUgraphNode copy = AddCopy(1, 0, {fill});
  const CUgraphNode kernel = AddAffine(2, 1, 1, {copy});
  exec_ = Instantiate();
  const CUDA_MEMSET_NODE_PARAMS f = FillOf(0, 5);
  ASSERT_OK(Graphs().cuGraphExecMemsetNodeSetParams(exec_, fill, &f, context_));
  const CUDA_MEMCPY3D c = CopyOf(3, 0);
  ASSERT_OK(Graphs().cuGraphExecMemcpyNodeSetParams(exec_, copy, &c, context_));
  Arguments arguments{array(2), array(3), 0};
  const CUDA_KERNEL_NODE_PARAMS k = AffineOf(arguments);
  ASSERT_OK(Graphs().cuGraphExecKernelNodeSetParams_v2(exec_, kernel, &k));
  Run(exec_);
  ExpectArray(1, 0);
  ExpectArray(2, 5);
}

TEST_F(Exec, AnUpdateDoesNotReachLaunchesBeforeIt) {
  const CUgraphNode fill = AddFill(0, 1);
  AddAffine(1, 0, 1, {fill});
  exec_ = Instantiate();
  Gate gate;
  gate.Block(stream_);
  ASSERT_OK(Graphs().cuGraphLaunch(exec_, stream_));
  const CUDA_MEMSET_NODE_PARAMS changed = FillOf(0, 10);
  ASSERT_OK(
      Graphs().cuGraphExecMemsetNodeSetParams(exec_, fill, &changed, context_));
  ASSERT_OK(Graphs().cuGraphLaunch(exec_, stream_));
  gate.Open();
  EXPECT_OK(Cuda().cuStreamSynchronize(stream_));
  ExpectArray(1, 1 + 10);
}

TEST_F(Exec, AGraphDestroyedAfterItsLaunchStillRuns) {
  AddFill(0, 4);
  const CUgraphExec exec = Instantiate();
  Gate gate;
  gate.Block(stream_);
  ASSERT_OK(Graphs().cuGraphLaunch(exec, stream_));
  ASSERT_OK(Graphs().cuGraphExecDestroy(exec));
  gate.Open();
  EXPECT_OK(Cuda().cuStreamSynchronize(stream_));
  ExpectArray(0, 4);
}

TEST_F(Exec, DisabledNodesDoNothing) {
  const CUgraphNode fill = AddFill(0, 1);
  const CUgraphNode kernel = AddAffine(0, 0, 1, {fill});
  exec_ = Instantiate();
  unsigned enabled = 0;
  ASSERT_OK(Graphs().cuGraphNodeGetEnabled(exec_, kernel, &enabled));
  EXPECT_EQ(enabled, 1u);
  ASSERT_OK(Graphs().cuGraphNodeSetEnabled(exec_, kernel, 0));
  ASSERT_OK(Graphs().cuGraphNodeGetEnabled(exec_, kernel, &enabled));
  EXPECT_EQ(enabled, 0u);
  Run(exec_);
  ExpectArray(0, 1);
  ASSERT_OK(Graphs().cuGraphNodeSetEnabled(exec_, kernel, 1));
  Run(exec_);
  ExpectArray(0, 2);
}

TEST_F(Exec, OnlyKernelsCopiesAndFillsCanBeDisabled) {
  const CUgraphNode empty = AddEmpty();
  exec_ = Instantiate();
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Graphs().cuGraphNodeSetEnabled(exec_, empty, 0));
}

TEST_F(Exec, AnUpdateTakesParametersFromAnEqualGraph) {
  const CUgraphNode fill = AddFill(0, 1);
  AddAffine(1, 0, 0, {fill});
  exec_ = Instantiate();
  const CUgraph changed = NewGraph();
  const CUgraphNode other = AddFill(0, 8, {}, changed);
  AddAffine(2, 0, 0, {other}, changed);
  const auto info = Update(changed, CUDA_SUCCESS);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  Run(exec_);
  ExpectArray(1, 0);
  ExpectArray(2, 8);
}

TEST_F(Exec, AnUpdateWithMoreNodesIsRefused) {
  AddFill(0, 1);
  exec_ = Instantiate();
  const CUgraph changed = NewGraph();
  const CUgraphNode other = AddFill(0, 8, {}, changed);
  AddEmpty({other}, changed);
  const auto info = Update(changed, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(info.errorNode, nullptr);
  Run(exec_);  // as it was
  ExpectArray(0, 1);
}

TEST_F(Exec, AnUpdateWithOtherEdgesNamesTheNode) {
  const CUgraphNode a = AddFill(0, 1);
  const CUgraphNode b = AddFill(1, 1);
  AddEmpty({a, b});
  exec_ = Instantiate();
  const CUgraph changed = NewGraph();
  const CUgraphNode c = AddFill(0, 1, {}, changed);
  const CUgraphNode d = AddFill(1, 1, {c}, changed);
  const CUgraphNode last = AddEmpty({d}, changed);
  const auto info = Update(changed, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(info.errorNode, last);
}

TEST_F(Exec, AnUpdateWithAnotherTypeNamesTheNode) {
  AddFill(0, 1);
  exec_ = Instantiate();
  const CUgraph changed = NewGraph();
  const CUgraphNode other = AddCopy(0, 1, {}, changed);
  const auto info = Update(changed, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_EQ(info.errorNode, other);
}

TEST_F(Exec, NodesOfOtherGraphsAreRefused) {
  AddFill(0, 1);
  exec_ = Instantiate();
  const CUgraphNode later = AddFill(0, 2);
  const CUDA_MEMSET_NODE_PARAMS changed = FillOf(0, 3);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Graphs().cuGraphExecMemsetNodeSetParams(
                                            exec_, later, &changed, context_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Graphs().cuGraphNodeSetEnabled(exec_, later, 0));
}

TEST_F(Exec, AChildGraphRunsInThePlaceOfItsNode) {
  const CUgraph child = NewGraph();
  const CUgraphNode inner = AddAffine(1, 0, 2, {}, child);
  AddAffine(1, 0, 2, {inner}, child);
  const CUgraphNode first = AddFill(0, 1);
  CUgraphNode node = nullptr;
  ASSERT_OK(Graphs().cuGraphAddChildGraphNode(&node, graph_, &first, 1, child));
  ASSERT_OK(Graphs().cuGraphDestroy(child));  // it was copied
  AddCopy(2, 1, {node});
  RunOnce();
  ExpectArray(2, (0 * 2 + 1) * 2 + 1);
  CUgraph own = nullptr;
  ASSERT_OK(Graphs().cuGraphChildGraphNodeGetGraph(node, &own));
  EXPECT_NE(own, child);
  size_t count = 0;
  ASSERT_OK(Graphs().cuGraphGetNodes(own, nullptr, &count));
  EXPECT_EQ(count, 2u);
}

TEST_F(Exec, ANodeThatIsRefusedLeavesBothGraphsAsTheyWere) {
  CUgraph child = nullptr;
  ASSERT_OK(Graphs().cuGraphCreate(&child, 0));
  AddFill(0, 3, {}, child);
  const CUgraphNode before = AddEmpty();
  const CUgraphNode twice[] = {before, before};
  CUgraphNodeParams p{};
  p.type = CU_GRAPH_NODE_TYPE_GRAPH;
  p.graph.graph = child;
  p.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  CUgraphNode node = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Graphs().cuGraphAddNode_v2(&node, graph_, twice, nullptr, 2, &p));
  AddFill(1, 3, {}, child);
  ASSERT_OK(Graphs().cuGraphAddNode_v2(&node, graph_, twice, nullptr, 1, &p));
  RunOnce();
  ExpectArray(0, 3);
  ExpectArray(1, 3);
}

TEST_F(Exec, AnEmptyChildKeepsTheOrder) {
  const CUgraph child = NewGraph();
  const CUgraphNode first = AddFill(0, 3);
  CUgraphNode node = nullptr;
  ASSERT_OK(Graphs().cuGraphAddChildGraphNode(&node, graph_, &first, 1, child));
  ASSERT_OK(Graphs().cuGraphDestroy(child));
  AddCopy(1, 0, {node});
  RunOnce();
  ExpectArray(1, 3);
}

TEST_F(Exec, AChildGraphIsReplacedByAnEqualOne) {
  CUgraph child = NewGraph();
  AddFill(0, 1, {}, child);
  CUgraphNode node = nullptr;
  ASSERT_OK(
      Graphs().cuGraphAddChildGraphNode(&node, graph_, nullptr, 0, child));
  exec_ = Instantiate();
  const CUgraph changed = NewGraph();
  AddFill(0, 2, {}, changed);
  ASSERT_OK(Graphs().cuGraphExecChildGraphNodeSetParams(exec_, node, changed));
  Run(exec_);
  ExpectArray(0, 2);
  AddEmpty({}, changed);
  EXPECT_CUDA(
      CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
      Graphs().cuGraphExecChildGraphNodeSetParams(exec_, node, changed));
  EXPECT_OK(Graphs().cuGraphDestroy(changed));
  EXPECT_OK(Graphs().cuGraphDestroy(child));
}

TEST_F(Exec, ARecordedEventIsReachedWithinTheGraph) {
  CUevent event = nullptr;
  ASSERT_OK(Cuda().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  const CUgraphNode fill = AddFill(0, 6);
  CUgraphNode record = nullptr;
  ASSERT_OK(
      Graphs().cuGraphAddEventRecordNode(&record, graph_, &fill, 1, event));
  CUevent found = nullptr;
  ASSERT_OK(Graphs().cuGraphEventRecordNodeGetEvent(record, &found));
  EXPECT_EQ(found, event);
  exec_ = Instantiate();
  Gate gate;
  gate.Block(stream_);
  ASSERT_OK(Graphs().cuGraphLaunch(exec_, stream_));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, Cuda().cuEventQuery(event));
  CUstream other = nullptr;
  ASSERT_OK(Cuda().cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(Cuda().cuStreamWaitEvent(other, event, 0));
  ASSERT_OK(Cuda().cuMemcpyDtoDAsync_v2(array(1), array(0),
                                        kWords * sizeof(unsigned), other));
  gate.Open();
  EXPECT_OK(Cuda().cuStreamSynchronize(other));
  ExpectArray(1, 6);
  EXPECT_OK(Cuda().cuStreamDestroy_v2(other));
  EXPECT_OK(Cuda().cuEventDestroy_v2(event));
}

TEST_F(Exec, AWaitNodeWaitsForAnotherStream) {
  CUevent event = nullptr;
  CUstream other = nullptr;
  ASSERT_OK(Cuda().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  ASSERT_OK(Cuda().cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CUgraphNode wait = nullptr;
  ASSERT_OK(Graphs().cuGraphAddEventWaitNode(&wait, graph_, nullptr, 0, event));
  AddCopy(1, 0, {wait});
  AddFill(2, 3);  // need not wait
  exec_ = Instantiate();
  Gate gate;
  gate.Block(other);
  ASSERT_OK(Cuda().cuMemsetD32Async(array(0), 9, kWords, other));
  ASSERT_OK(Cuda().cuEventRecord(event, other));
  ASSERT_OK(Graphs().cuGraphLaunch(exec_, stream_));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, Cuda().cuStreamQuery(stream_));
  gate.Open();
  EXPECT_OK(Cuda().cuStreamSynchronize(stream_));
  ExpectArray(1, 9);
  ExpectArray(2, 3);
  EXPECT_OK(Cuda().cuStreamSynchronize(other));
  EXPECT_OK(Cuda().cuStreamDestroy_v2(other));
  EXPECT_OK(Cuda().cuEventDestroy_v2(event));
}

TEST_F(Exec, UploadAndFlags) {
  AddFill(0, 1);
  ASSERT_OK(Graphs().cuGraphInstantiateWithFlags(
      &exec_, graph_, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY));
  cuuint64_t flags = 0;
  ASSERT_OK(Graphs().cuGraphExecGetFlags(exec_, &flags));
  EXPECT_EQ(flags, 0u);  // Not told.
  ASSERT_OK(Graphs().cuGraphUpload(exec_, stream_));
  Run(exec_);
  ExpectArray(0, 1);
  CUgraphExec exec = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Graphs().cuGraphInstantiateWithFlags(&exec, graph_, 1ull << 40));
}

}  // namespace
}  // namespace holdfast::conformance
