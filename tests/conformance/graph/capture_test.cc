// SPDX-License-Identifier: Apache-2.0
//
// Streams that are captured into graphs, and what a capture does not allow.
#include "tests/conformance/graph/graph_api.h"

namespace holdfast::conformance {
namespace {

constexpr CUstreamCaptureMode kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
constexpr CUstreamCaptureMode kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;

class Captures : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    ASSERT_OK(Cuda().cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(Cuda().cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING));
    ASSERT_OK(Cuda().cuEventCreate(&back_, CU_EVENT_DISABLE_TIMING));
  }
  void TearDown() override {
    EXPECT_OK(Cuda().cuEventDestroy_v2(back_));
    EXPECT_OK(Cuda().cuEventDestroy_v2(event_));
    EXPECT_OK(Cuda().cuStreamDestroy_v2(other_));
    GraphTest::TearDown();
  }

  void Begin(CUstreamCaptureMode mode = kRelaxed) {
    ASSERT_OK(Graphs().cuStreamBeginCapture_v2(stream_, mode));
  }
  // Ends the capture, and runs its graph once.
  void EndAndRun() {
    CUgraph graph = nullptr;
    ASSERT_OK(Graphs().cuStreamEndCapture(stream_, &graph));
    const CUgraphExec exec = Instantiate(graph);
    Run(exec);
    EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
    EXPECT_OK(Graphs().cuGraphDestroy(graph));
  }
  void ExpectEnd(CUresult expected) {
    CUgraph graph = nullptr;
    EXPECT_CUDA(expected, Graphs().cuStreamEndCapture(stream_, &graph));
    EXPECT_EQ(graph, nullptr);
  }
  CUresult Fill(CUstream stream, int index, unsigned value) {
    return Cuda().cuMemsetD32Async(array(index), value, kWords, stream);
  }
  CUresult Copy(CUstream stream, int to, int from) {
    return Cuda().cuMemcpyDtoDAsync_v2(array(to), array(from),
                                       kWords * sizeof(unsigned), stream);
  }
  CUstreamCaptureStatus Status(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_OK(Graphs().cuStreamIsCapturing(stream, &status));
    return status;
  }

  CUstream other_ = nullptr;
  CUevent event_ = nullptr, back_ = nullptr;
};

TEST_F(Captures, CapturedWorkRunsWithTheGraphOnly) {
  Begin();
  EXPECT_EQ(Status(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_OK(Fill(stream_, 0, 5));
  Arguments arguments{array(1), array(0), 1};
  ASSERT_OK(Cuda().cuLaunchKernel(affine_, (kWords + 127) / 128, 1, 1, 128, 1,
                                  1, 0, stream_, arguments.pointers, nullptr));
  ASSERT_OK(Copy(stream_, 2, 1));
  CUgraph graph = nullptr;
  ASSERT_OK(Graphs().cuStreamEndCapture(stream_, &graph));
  EXPECT_EQ(Status(stream_), CU_STREAM_CAPTURE_STATUS_NONE);
  ExpectArray(2, 0);
  size_t nodes = 0, edges = 0;
  ASSERT_OK(Graphs().cuGraphGetNodes(graph, nullptr, &nodes));
  ASSERT_OK(
      Graphs().cuGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(nodes, 3u);
  EXPECT_EQ(edges, 2u);
  const CUgraphExec exec = Instantiate(graph);
  Run(exec);
  ExpectArray(2, 5);
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
  EXPECT_OK(Graphs().cuGraphDestroy(graph));
}

TEST_F(Captures, StreamsForkAndJoinOverEvents) {
  Begin();
  ASSERT_OK(Fill(stream_, 0, 3));
  ASSERT_OK(Cuda().cuEventRecord(event_, stream_));
  ASSERT_OK(Cuda().cuStreamWaitEvent(other_, event_, 0));
  EXPECT_EQ(Status(other_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_OK(Copy(other_, 1, 0));
  ASSERT_OK(Copy(stream_, 2, 0));
  ASSERT_OK(Cuda().cuEventRecord(back_, other_));
  ASSERT_OK(Cuda().cuStreamWaitEvent(stream_, back_, 0));
  ASSERT_OK(Copy(stream_, 3, 1));
  EndAndRun();
  EXPECT_EQ(Status(other_), CU_STREAM_CAPTURE_STATUS_NONE);
  ExpectArray(2, 3);
  ExpectArray(3, 3);
}

TEST_F(Captures, WorkThatIsNotJoinedIsRefused) {
  Begin();
  ASSERT_OK(Cuda().cuEventRecord(event_, stream_));
  ASSERT_OK(Cuda().cuStreamWaitEvent(other_, event_, 0));
  ASSERT_OK(Fill(other_, 0, 1));
  ExpectEnd(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(Status(other_), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(Captures, AStreamMayBeDestroyedWhenItsWorkIsJoined) {
  Begin(kGlobal);
  ASSERT_OK(Fill(stream_, 0, 3));
  ASSERT_OK(Cuda().cuEventRecord(event_, stream_));
  CUstream fork = nullptr;
  ASSERT_OK(Cuda().cuStreamCreate(&fork, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(Cuda().cuStreamWaitEvent(fork, event_, 0));
  ASSERT_OK(Copy(fork, 1, 0));
  ASSERT_OK(Cuda().cuEventRecord(back_, fork));
  ASSERT_OK(Cuda().cuStreamWaitEvent(stream_, back_, 0));
  ASSERT_OK(Cuda().cuStreamDestroy_v2(fork));
  ASSERT_OK(Copy(stream_, 2, 1));
  EndAndRun();
  ExpectArray(2, 3);
}

TEST_F(Captures, WorkOfADestroyedStreamHasToBeJoined) {
  Begin();
  ASSERT_OK(Cuda().cuEventRecord(event_, stream_));
  CUstream fork = nullptr;
  ASSERT_OK(Cuda().cuStreamCreate(&fork, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(Cuda().cuStreamWaitEvent(fork, event_, 0));
  ASSERT_OK(Fill(fork, 0, 1));
  ASSERT_OK(Cuda().cuStreamDestroy_v2(fork));
  ExpectEnd(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}

TEST_F(Captures, AskingACapturingStreamInvalidates) {
  Begin();
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              Cuda().cuStreamSynchronize(stream_));
  EXPECT_EQ(Status(stream_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, Fill(stream_, 0, 1));
  ExpectEnd(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Captures, ALaunchThatFailsInvalidates) {
  Begin();
  Arguments arguments{array(0), array(1), 1};
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuLaunchKernel(affine_, 0, 1, 1, 32, 1, 1, 0, stream_,
                                    arguments.pointers, nullptr));
  EXPECT_EQ(Status(stream_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  ExpectEnd(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Captures, AWaitForNoEventInvalidates) {
  Begin();
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE,
              Cuda().cuStreamWaitEvent(stream_, nullptr, 0));
  ExpectEnd(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Captures, ACopyOfNullDoesNotInvalidate) {
  Begin();
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemcpyAsync(0, array(0), 4, stream_));
  EXPECT_EQ(Status(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EndAndRun();
}

TEST_F(Captures, EventsOfBeforeAreAnotherMatter) {
  ASSERT_OK(Cuda().cuEventRecord(event_, other_));
  Begin();
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
              Cuda().cuStreamWaitEvent(stream_, event_, 0));
  ExpectEnd(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Captures, ACapturedEventCannotBeAsked) {
  Begin();
  ASSERT_OK(Cuda().cuEventRecord(event_, stream_));
  EXPECT_CUDA(CUDA_ERROR_CAPTURED_EVENT, Cuda().cuEventQuery(event_));
  ExpectEnd(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Captures, ExternalEventsBecomeNodes) {
  Begin();
  ASSERT_OK(Cuda().cuStreamWaitEvent(stream_, event_, CU_EVENT_WAIT_EXTERNAL));
  CUgraph graph = nullptr;
  ASSERT_OK(Graphs().cuStreamEndCapture(stream_, &graph));
  size_t count = 1;
  CUgraphNode node = nullptr;
  ASSERT_OK(Graphs().cuGraphGetNodes(graph, &node, &count));
  CUgraphNodeType type;
  ASSERT_OK(Graphs().cuGraphNodeGetType(node, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
  EXPECT_OK(Graphs().cuGraphDestroy(graph));
}

TEST_F(Captures, CapturesDoNotMerge) {
  Begin();
  ASSERT_OK(Graphs().cuStreamBeginCapture_v2(other_, kRelaxed));
  ASSERT_OK(Cuda().cuEventRecord(event_, other_));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_MERGE,
              Cuda().cuStreamWaitEvent(stream_, event_, 0));
  ExpectEnd(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CUgraph graph = nullptr;
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
              Graphs().cuStreamEndCapture(other_, &graph));
}

TEST_F(Captures, OnlyTheFirstStreamEndsIt) {
  Begin();
  ASSERT_OK(Cuda().cuEventRecord(event_, stream_));
  ASSERT_OK(Cuda().cuStreamWaitEvent(other_, event_, 0));
  CUgraph graph = nullptr;
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
              Graphs().cuStreamEndCapture(other_, &graph));
  ExpectEnd(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Captures, TheDefaultStreamIsNotCaptured) {
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              Graphs().cuStreamBeginCapture_v2(CU_STREAM_LEGACY, kRelaxed));
}

TEST_F(Captures, TheDefaultStreamWouldOrderABlockingOne) {
  CUstream blocking = nullptr;
  ASSERT_OK(Cuda().cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  ASSERT_OK(Graphs().cuStreamBeginCapture_v2(blocking, kRelaxed));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, Fill(nullptr, 0, 1));
  CUgraph graph = nullptr;
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
              Graphs().cuStreamEndCapture(blocking, &graph));
  EXPECT_OK(Cuda().cuStreamDestroy_v2(blocking));
}

TEST_F(Captures, UnsafeCallsBreakStrictCapturesOnly) {
  CUdeviceptr memory = 0;
  Begin(kGlobal);
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              Cuda().cuMemAlloc_v2(&memory, 16));
  ExpectEnd(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  Begin(kRelaxed);
  EXPECT_OK(Cuda().cuMemAlloc_v2(&memory, 16));
  EXPECT_OK(Cuda().cuMemFree_v2(memory));
  EndAndRun();
  Begin(kGlobal);
  CUstreamCaptureMode mode = kRelaxed;
  ASSERT_OK(Graphs().cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, kGlobal);
  EXPECT_OK(Cuda().cuMemAlloc_v2(&memory, 16));
  ASSERT_OK(Graphs().cuThreadExchangeStreamCaptureMode(&mode));
  EndAndRun();
  EXPECT_OK(Cuda().cuMemFree_v2(memory));
}

TEST_F(Captures, WaitingForAContextBreaksEveryCaptureInIt) {
  Begin();
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              Cuda().cuCtxSynchronize_v2(nullptr));
  EXPECT_EQ(Status(stream_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  ExpectEnd(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  // A stream of another context takes part.
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  ASSERT_OK(Cuda().cuCtxCreate_v4(&context, nullptr, 0, 0));
  ASSERT_OK(Cuda().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  Begin();
  ASSERT_OK(Cuda().cuEventRecord(event_, stream_));
  ASSERT_OK(Cuda().cuStreamWaitEvent(stream, event_, 0));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              Cuda().cuCtxSynchronize_v2(nullptr));
  EXPECT_EQ(Status(stream_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  ExpectEnd(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_OK(Cuda().cuCtxDestroy_v2(context));
}

TEST_F(Captures, ACaptureEndsWithItsContext) {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  ASSERT_OK(Cuda().cuCtxCreate_v4(&context, nullptr, 0, 0));
  ASSERT_OK(Cuda().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(Graphs().cuStreamBeginCapture_v2(stream, kGlobal));
  ASSERT_OK(Cuda().cuCtxDestroy_v2(context));
  // No capture is left that an unsafe call could break.
  CUdeviceptr memory = 0;
  EXPECT_OK(Cuda().cuMemAlloc_v2(&memory, 16));
  EXPECT_OK(Cuda().cuMemFree_v2(memory));
  EXPECT_OK(Cuda().cuCtxSynchronize_v2(nullptr));
}

TEST_F(Captures, AttributesOfACapturingStreamMayChange) {
  Begin();
  CUstreamAttrValue value{};
  value.syncPolicy = CU_SYNC_POLICY_SPIN;
  EXPECT_OK(Cuda().cuStreamSetAttribute(
      stream_, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  EXPECT_EQ(Status(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EndAndRun();
}

TEST_F(Captures, WrongBeginsAndEnds) {
  ExpectEnd(CUDA_ERROR_ILLEGAL_STATE);
  Begin();
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_STATE,
              Graphs().cuStreamBeginCapture_v2(stream_, kRelaxed));
  EndAndRun();
}

TEST_F(Captures, IntoAGraphBehindItsNodes) {
  const CUgraphNode fill = AddFill(0, 2);
  ASSERT_OK(Graphs().cuStreamBeginCaptureToGraph(stream_, graph_, &fill,
                                                 nullptr, 1, kRelaxed));
  ASSERT_OK(Copy(stream_, 1, 0));
  CUgraph graph = nullptr;
  ASSERT_OK(Graphs().cuStreamEndCapture(stream_, &graph));
  EXPECT_EQ(graph, graph_);
  RunOnce();
  ExpectArray(1, 2);
}

TEST_F(Captures, IntoAGraphThatTheEndNeedNotTell) {
  ASSERT_OK(Graphs().cuStreamBeginCaptureToGraph(stream_, graph_, nullptr,
                                                 nullptr, 0, kRelaxed));
  ASSERT_OK(Fill(stream_, 0, 3));
  ASSERT_OK(Graphs().cuStreamEndCapture(stream_, nullptr));
  RunOnce();
  ExpectArray(0, 3);
}

// So does an H200's driver 580: the graph is gone, the stream works again.
TEST_F(Captures, TheEndWithoutAGraphDropsIt) {
  Begin();
  ASSERT_OK(Fill(stream_, 0, 5));
  ASSERT_OK(Graphs().cuStreamEndCapture(stream_, nullptr));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  ASSERT_OK(Graphs().cuStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  ASSERT_OK(Fill(stream_, 0, 6));
  ASSERT_OK(Cuda().cuStreamSynchronize(stream_));
  ExpectArray(0, 6);
}

TEST_F(Captures, ItsNodesAreToldAndChanged) {
  Begin();
  ASSERT_OK(Fill(stream_, 0, 4));
  CUstreamCaptureStatus status;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* data = nullptr;
  size_t count = 0;
  ASSERT_OK(Graphs().cuStreamGetCaptureInfo_v3(stream_, &status, &id, &graph,
                                               &nodes, &data, &count));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_EQ(count, 1u);
  CUgraphNode copy = AddCopy(1, 0, {nodes[0]}, graph);
  ASSERT_OK(Graphs().cuStreamUpdateCaptureDependencies_v2(
      stream_, &copy, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  ASSERT_OK(Copy(stream_, 2, 1));
  EndAndRun();
  ExpectArray(2, 4);
}

TEST_F(Captures, EdgesWithDataAreNotToldWithoutIt) {
  const CUgraphNode kernel = AddAffine(1, 0, 1);
  CUgraphEdgeData edge{};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  ASSERT_OK(Graphs().cuStreamBeginCaptureToGraph(stream_, graph_, &kernel,
                                                 &edge, 1, kRelaxed));
  CUstreamCaptureStatus status;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* data = nullptr;
  size_t count = 0;
  EXPECT_CUDA(CUDA_ERROR_LOSSY_QUERY,
              Graphs().cuStreamGetCaptureInfo_v3(
                  stream_, &status, nullptr, nullptr, &nodes, nullptr, &count));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Graphs().cuStreamGetCaptureInfo_v3(
                  stream_, &status, nullptr, nullptr, nullptr, &data, &count));
  EXPECT_OK(Graphs().cuStreamGetCaptureInfo_v3(
      stream_, &status, nullptr, nullptr, nullptr, nullptr, &count));
  ASSERT_OK(Graphs().cuStreamGetCaptureInfo_v3(stream_, &status, nullptr,
                                               nullptr, &nodes, &data, &count));
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(nodes[0], kernel);
  EXPECT_EQ(data[0].type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
  CUgraph graph = nullptr;
  EXPECT_OK(Graphs().cuStreamEndCapture(stream_, &graph));
}

TEST_F(Captures, AGraphLaunchIsNotCaptured) {
  AddFill(0, 6);
  const CUgraphExec exec = Instantiate();
  Begin();
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              Graphs().cuGraphLaunch(exec, stream_));
  CUgraph captured = nullptr;
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
              Graphs().cuStreamEndCapture(stream_, &captured));
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
}

TEST_F(Captures, MemoryOfTheStreamBecomesMemoryOfTheGraph) {
  Begin();
  CUdeviceptr memory = 0;
  ASSERT_OK(
      Cuda().cuMemAllocAsync(&memory, kWords * sizeof(unsigned), stream_));
  ASSERT_OK(Cuda().cuMemsetD32Async(memory, 8, kWords, stream_));
  ASSERT_OK(Cuda().cuMemcpyDtoDAsync_v2(array(1), memory,
                                        kWords * sizeof(unsigned), stream_));
  ASSERT_OK(Cuda().cuMemFreeAsync(memory, stream_));
  EndAndRun();
  ExpectArray(1, 8);
}

}  // namespace
}  // namespace holdfast::conformance
