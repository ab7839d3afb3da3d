// SPDX-License-Identifier: Apache-2.0
//
// Batches of memory operations, user objects, DOT.
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "tests/conformance/graph/graph_api.h"

namespace holdfast::conformance {
namespace {

using Batch = GraphTest;

CUstreamBatchMemOpParams WriteOf(CUdeviceptr address, unsigned value) {
  CUstreamBatchMemOpParams p{};
  p.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  p.writeValue.address = address;
  p.writeValue.value = value;
  return p;
}

TEST_F(Batch, WritesAndWaitsInOrder) {
  CUstreamBatchMemOpParams operations[2] = {WriteOf(array(0), 5), {}};
  operations[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operations[1].waitValue.address = array(0);
  operations[1].waitValue.value = 5;
  operations[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  CUDA_BATCH_MEM_OP_NODE_PARAMS p{context_, 2, operations, 0};
  CUgraphNode node = nullptr;
  ASSERT_OK(Graphs().cuGraphAddBatchMemOpNode(&node, graph_, nullptr, 0, &p));
  AddCopy(1, 0, {node});
  const CUgraphExec exec = Instantiate();
  Run(exec);
  EXPECT_EQ(Read(1)[0], 5u);
  operations[0].writeValue.value = 6;
  operations[1].waitValue.value = 6;
  ASSERT_OK(Graphs().cuGraphExecBatchMemOpNodeSetParams(exec, node, &p));
  Run(exec);
  EXPECT_EQ(Read(1)[0], 6u);
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
}

TEST_F(Batch, AWaitHoldsOnlyItsSuccessorsBack) {
  CUstreamBatchMemOpParams wait{};
  wait.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  wait.waitValue.address = array(0);
  wait.waitValue.value = 1;
  wait.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  CUDA_BATCH_MEM_OP_NODE_PARAMS p{context_, 1, &wait, 0};
  CUgraphNode node = nullptr;
  ASSERT_OK(Graphs().cuGraphAddBatchMemOpNode(&node, graph_, nullptr, 0, &p));
  AddFill(2, 7, {node});
  // The other branch ends the wait.
  AddFill(0, 1, {AddFill(1, 4)});
  RunOnce();
  ExpectArray(2, 7);
}

using UserObjects = GraphTest;

TEST_F(UserObjects, TheLastReferenceDestroys) {
  int destroyed = 0;
  CUuserObject object = nullptr;
  ASSERT_OK(Graphs().cuUserObjectCreate(
      &object, &destroyed, [](void* data) { ++*static_cast<int*>(data); }, 1,
      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  CUgraph graph = nullptr;
  ASSERT_OK(Graphs().cuGraphCreate(&graph, 0));
  ASSERT_OK(Graphs().cuGraphRetainUserObject(graph, object, 1,
                                             CU_GRAPH_USER_OBJECT_MOVE));
  const CUgraphExec exec = Instantiate(graph);
  EXPECT_OK(Graphs().cuGraphDestroy(graph));
  EXPECT_EQ(destroyed, 0);
  Run(exec);
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
  for (int i = 0; i < 1000 && destroyed == 0; ++i) usleep(1000);
  EXPECT_EQ(destroyed, 1);
}

// The destructor waits for another thread, which uses graphs.
TEST_F(UserObjects, ADestructorHoldsNoLockOfTheDriver) {
  struct State {
    std::atomic<int> result{-1};
    CUresult in_destructor = CUDA_SUCCESS;
  } state;
  CUuserObject object = nullptr;
  const auto destroy = [](void* data) {
    auto* const state = static_cast<State*>(data);
    CUgraph graph = nullptr;
    state->in_destructor = Graphs().cuGraphCreate(&graph, 0);
    std::thread([state] {
      CUgraph other = nullptr;
      state->result = Graphs().cuGraphCreate(&other, 0);
      EXPECT_OK(Graphs().cuGraphDestroy(other));
    }).join();
  };
  ASSERT_OK(Graphs().cuUserObjectCreate(&object, &state, destroy, 1,
                                        CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  CUgraph child = nullptr;
  ASSERT_OK(Graphs().cuGraphCreate(&child, 0));
  ASSERT_OK(Graphs().cuGraphRetainUserObject(child, object, 1,
                                             CU_GRAPH_USER_OBJECT_MOVE));
  CUgraphNode node = nullptr;
  ASSERT_OK(
      Graphs().cuGraphAddChildGraphNode(&node, graph_, nullptr, 0, child));
  ASSERT_OK(Graphs().cuGraphDestroy(child));
  ASSERT_OK(Graphs().cuGraphDestroyNode(node));
  for (int i = 0; i < 1000 && state.result < 0; ++i) usleep(1000);
  EXPECT_EQ(state.result, CUDA_SUCCESS);
  EXPECT_CUDA(CUDA_ERROR_NOT_PERMITTED, state.in_destructor);
}

using Dot = GraphTest;

TEST_F(Dot, NamesNodesAndEdges) {
  const CUgraphNode fill = AddFill(0, 1);
  AddAffine(1, 0, 1, {fill});
  // Processes in sandboxes have equal numbers.
  const std::string path =
      testing::TempDir() + "holdfast-dot-" + std::to_string(getpid());
  ASSERT_OK(Graphs().cuGraphDebugDotPrint(graph_, path.c_str(),
                                          CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  unlink(path.c_str());
  EXPECT_NE(text.str().find("digraph"), std::string::npos);
  EXPECT_NE(text.str().find("->"), std::string::npos);
  EXPECT_NE(text.str().find("affine"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::conformance
