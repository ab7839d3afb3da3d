// SPDX-License-Identifier: Apache-2.0
//
// Conditional nodes, alone and beside functions and ordinary memory of the
// program.
#include <atomic>
#include <vector>

#include "tests/conformance/graph/graph_api.h"
#include "tests/testing/kernels.h"

namespace holdfast::conformance {
namespace {

class Conditional : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    ASSERT_OK(Cuda().cuModuleLoadData(
        &conditions_, test_ptx::kModule<test_ptx::kConditions>));
    ASSERT_OK(
        Cuda().cuModuleGetFunction(&countdown_, conditions_, "count_down"));
    ASSERT_OK(Cuda().cuModuleGetFunction(&set_, conditions_, "set"));
  }
  void TearDown() override {
    EXPECT_OK(Cuda().cuModuleUnload(conditions_));
    GraphTest::TearDown();
  }

  CUgraphConditionalHandle NewHandle(unsigned value) {
    CUgraphConditionalHandle handle = 0;
    EXPECT_OK(Graphs().cuGraphConditionalHandleCreate(
        &handle, graph_, context_, value, CU_GRAPH_COND_ASSIGN_DEFAULT));
    return handle;
  }
  // Returns the bodies.
  std::vector<CUgraph> AddConditional(CUgraphConditionalHandle handle,
                                      CUgraphConditionalNodeType type,
                                      unsigned size, const Nodes& after,
                                      CUgraphNode* node,
                                      CUgraph graph = nullptr) {
    CUgraphNodeParams p{};
    p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    p.conditional.handle = handle;
    p.conditional.type = type;
    p.conditional.size = size;
    p.conditional.ctx = context_;
    EXPECT_OK(
        Graphs().cuGraphAddNode_v2(node, graph == nullptr ? graph_ : graph,
                                   after.data(), nullptr, after.size(), &p));
    return {p.conditional.phGraph_out, p.conditional.phGraph_out + size};
  }
  CUgraphNode AddKernel(CUfunction kernel, void** values, const Nodes& after,
                        CUgraph graph) {
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = kernel;
    p.gridDimX = p.gridDimY = p.gridDimZ = 1;
    p.blockDimX = p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = values;
    CUgraphNode node = nullptr;
    EXPECT_OK(Graphs().cuGraphAddKernelNode_v2(&node, graph, after.data(),
                                               after.size(), &p));
    return node;
  }

  CUgraphNode AddCall(std::atomic<int>* calls, const Nodes& after) {
    const CUDA_HOST_NODE_PARAMS call{
        [](void* data) { ++*static_cast<std::atomic<int>*>(data); }, calls};
    CUgraphNode node = nullptr;
    EXPECT_OK(Graphs().cuGraphAddHostNode(&node, graph_, after.data(),
                                          after.size(), &call));
    return node;
  }
  // Adds a loop that adds array 2 to array 1 once for each round that is left
  // in array 0.
  CUgraphNode AddLoop(const Nodes& after) {
    CUgraphConditionalHandle handle = NewHandle(1);
    CUgraphNode loop = nullptr;
    const CUgraph body =
        AddConditional(handle, CU_GRAPH_COND_TYPE_WHILE, 1, after, &loop)[0];
    const CUgraphNode add = AddAffine(1, 2, 1, {}, body);
    CUdeviceptr left = array(0);
    void* values[] = {&handle, &left};
    AddKernel(countdown_, values, {add}, body);
    return loop;
  }

  CUmodule conditions_ = nullptr;
  CUfunction countdown_ = nullptr, set_ = nullptr;
};

TEST_F(Conditional, AWhileLoopRunsUntilAKernelEndsIt) {
  const CUgraphNode rounds = AddFill(0, 10);
  const CUgraphNode start = AddFill(1, 0, {rounds});
  const CUgraphNode loop = AddLoop({AddFill(2, 1, {start})});
  AddCopy(3, 1, {loop});
  const CUgraphExec exec = Instantiate();
  for (int i = 0; i < 2; ++i) {
    Run(exec);
    ExpectArray(3, 10);
  }
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
}

TEST_F(Conditional, ALoopWhoseConditionIsFalseDoesNotRun) {
  CUgraphNode loop = nullptr;
  const CUgraph body =
      AddConditional(NewHandle(0), CU_GRAPH_COND_TYPE_WHILE, 1, {}, &loop)[0];
  AddFill(0, 1, {}, body);
  RunOnce();
  ExpectArray(0, 0);
}

TEST_F(Conditional, IfAndElse) {
  CUgraphConditionalHandle handle = NewHandle(0);
  unsigned value = 1;
  void* values[] = {&handle, &value};
  const CUgraphNode choose = AddKernel(set_, values, {}, graph_);
  CUgraphNode node = nullptr;
  const std::vector<CUgraph> bodies =
      AddConditional(handle, CU_GRAPH_COND_TYPE_IF, 2, {choose}, &node);
  AddFill(0, 1, {}, bodies[0]);
  AddFill(1, 1, {}, bodies[1]);
  const CUgraphExec exec = Instantiate();
  Run(exec);
  ExpectArray(0, 1);
  ExpectArray(1, 0);
  value = 0;
  CUDA_KERNEL_NODE_PARAMS p{};
  ASSERT_OK(Graphs().cuGraphKernelNodeGetParams_v2(choose, &p));
  p.kernelParams = values;
  ASSERT_OK(Graphs().cuGraphExecKernelNodeSetParams_v2(exec, choose, &p));
  Run(exec);
  ExpectArray(1, 1);
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
}

TEST_F(Conditional, ASwitchRunsOneBodyOrNone) {
  for (const unsigned choice : {1u, 2u, 9u}) {
    CUgraphNode node = nullptr;
    const std::vector<CUgraph> bodies = AddConditional(
        NewHandle(choice), CU_GRAPH_COND_TYPE_SWITCH, 3, {}, &node);
    for (int i = 0; i < 3; ++i) AddFill(i, choice + 1, {}, bodies[i]);
  }
  RunOnce();
  ExpectArray(0, 0);
  ExpectArray(1, 2);
  ExpectArray(2, 3);
}

// Drivers differ in whether a copy of one row may become one of two.
TEST_F(Conditional, ARefusedUpdateChangesNothing) {
  void* host = nullptr;
  ASSERT_OK(Cuda().cuMemHostAlloc(&host, 2 * kWords * sizeof(unsigned), 0));
  CUgraphNode node = nullptr;
  const CUgraph body =
      AddConditional(NewHandle(1), CU_GRAPH_COND_TYPE_IF, 1, {}, &node)[0];
  const CUgraphNode fill = AddFill(0, 7, {}, body);
  CUDA_MEMCPY3D copied = CopyOf(1, 0);
  copied.dstMemoryType = CU_MEMORYTYPE_HOST;
  copied.dstHost = host;
  CUgraphNode copy = nullptr;
  ASSERT_OK(
      Graphs().cuGraphAddMemcpyNode(&copy, body, &fill, 1, &copied, context_));
  const CUgraphExec exec = Instantiate();
  copied.WidthInBytes /= 2;
  copied.Height = 2;
  copied.srcPitch = copied.WidthInBytes;
  copied.dstPitch = 2 * copied.WidthInBytes;
  ASSERT_OK(Graphs().cuGraphMemcpyNodeSetParams(copy, &copied));
  CUgraphExecUpdateResultInfo info{};
  const CUresult result = Graphs().cuGraphExecUpdate_v2(exec, graph_, &info);
  if (result != CUDA_SUCCESS) {
    EXPECT_CUDA(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, result);
    const CUDA_MEMSET_NODE_PARAMS nine = FillOf(0, 9);
    EXPECT_OK(
        Graphs().cuGraphExecMemsetNodeSetParams(exec, fill, &nine, context_));
    Run(exec);
    ExpectArray(0, 9);
    const auto* words = static_cast<const unsigned*>(host);
    EXPECT_EQ(words[0], 9u);
    EXPECT_EQ(words[kWords - 1], 9u);
  }
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
  EXPECT_OK(Cuda().cuMemFreeHost(host));
}

// Drivers differ in whether a graph may change while another node's kernel may
// not have as much shared memory any more.
TEST_F(Conditional, ARefusedChildChangesNothing) {
  constexpr auto kMost = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  ASSERT_OK(Cuda().cuFuncSetAttribute(affine_, kMost, 64 << 10));
  Arguments arguments{array(3), array(4), 1};
  CUDA_KERNEL_NODE_PARAMS launch = AffineOf(arguments);
  launch.sharedMemBytes = 64 << 10;
  CUgraphNode node = nullptr, kernel = nullptr, parent = nullptr;
  AddFill(0, 7, {},
          AddConditional(NewHandle(1), CU_GRAPH_COND_TYPE_IF, 1, {}, &node)[0]);
  ASSERT_OK(
      Graphs().cuGraphAddKernelNode_v2(&kernel, graph_, nullptr, 0, &launch));
  CUgraph child = nullptr;
  ASSERT_OK(Graphs().cuGraphCreate(&child, 0));
  const CUgraphNode fill = AddFill(1, 5, {}, child);
  ASSERT_OK(
      Graphs().cuGraphAddChildGraphNode(&parent, graph_, nullptr, 0, child));
  CUgraph inner = nullptr;
  ASSERT_OK(Graphs().cuGraphChildGraphNodeGetGraph(parent, &inner));
  CUgraphNode inner_fill = nullptr;
  size_t count = 1;
  ASSERT_OK(Graphs().cuGraphGetNodes(inner, &inner_fill, &count));
  const CUgraphExec exec = Instantiate();
  Run(exec);
  ASSERT_OK(Cuda().cuFuncSetAttribute(affine_, kMost, 0));
  CUDA_MEMSET_NODE_PARAMS changed = FillOf(1, 6);
  ASSERT_OK(Graphs().cuGraphMemsetNodeSetParams(fill, &changed));
  if (Graphs().cuGraphExecChildGraphNodeSetParams(exec, parent, child) !=
      CUDA_SUCCESS) {
    changed = FillOf(2, 8);
    EXPECT_OK(Graphs().cuGraphExecMemsetNodeSetParams(exec, inner_fill,
                                                      &changed, context_));
    EXPECT_OK(Cuda().cuMemsetD32_v2(array(0), 0, kWords));
    EXPECT_OK(Cuda().cuMemsetD32_v2(array(1), 0, kWords));
    Run(exec);
    ExpectArray(0, 7);
    ExpectArray(1, 0);
    ExpectArray(2, 8);
  }
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
  EXPECT_OK(Graphs().cuGraphDestroy(child));
}

TEST_F(Conditional, WrongOnesAreRefused) {
  CUgraphNodeParams p{};
  p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  p.conditional.handle = NewHandle(0);
  p.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
  p.conditional.size = 2;  // a loop has one body
  p.conditional.ctx = context_;
  CUgraphNode node = nullptr;
  const auto add = [&] {
    return Graphs().cuGraphAddNode_v2(&node, graph_, nullptr, nullptr, 0, &p);
  };
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, add());
  p.conditional.type = CU_GRAPH_COND_TYPE_SWITCH;
  p.conditional.size = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, add());
  CUgraphExec exec = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Graphs().cuGraphInstantiateWithParams(
                                            &exec, graph_, &parameters));
  EXPECT_EQ(parameters.result_out,
            CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
}

TEST_F(Conditional, ABodysNodeTestsAConditionOfTheGraphAround) {
  CUgraphConditionalHandle inner = NewHandle(0);
  CUgraphNode outer = nullptr, node = nullptr;
  const CUgraph body =
      AddConditional(NewHandle(1), CU_GRAPH_COND_TYPE_IF, 1, {}, &outer)[0];
  unsigned value = 1;
  void* values[] = {&inner, &value};
  const CUgraphNode choose = AddKernel(set_, values, {}, body);
  const std::vector<CUgraph> bodies =
      AddConditional(inner, CU_GRAPH_COND_TYPE_IF, 2, {choose}, &node, body);
  AddFill(0, 1, {}, bodies[0]);
  AddFill(1, 1, {}, bodies[1]);
  RunOnce();
  ExpectArray(0, 1);
  ExpectArray(1, 0);
}

TEST_F(Conditional, FunctionsAreCalledBesideALoop) {
  std::atomic<int> before = 0, after = 0;
  const CUgraphNode call = AddCall(&before, {AddFill(0, 4)});
  const CUgraphNode start = AddFill(1, 0, {call});
  const CUgraphNode loop = AddLoop({AddFill(2, 1, {start})});
  AddCopy(3, 1, {AddCall(&after, {loop})});
  const CUgraphExec exec = Instantiate();
  for (int i = 1; i <= 3; ++i) {
    Run(exec);
    ExpectArray(3, 4);
    EXPECT_EQ(before, i);
    EXPECT_EQ(after, i);
  }
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
}

TEST_F(Conditional, OrdinaryMemoryIsCopiedBesideALoop) {
  unsigned rounds = 0, sum = 0;
  CUDA_MEMCPY3D in = CopyOf(0, 0), out = CopyOf(1, 1);
  in.srcMemoryType = out.dstMemoryType = CU_MEMORYTYPE_HOST;
  in.srcHost = &rounds;
  out.dstHost = &sum;
  in.WidthInBytes = out.WidthInBytes = sizeof rounds;
  CUgraphNode first = nullptr, last = nullptr;
  ASSERT_OK(
      Graphs().cuGraphAddMemcpyNode(&first, graph_, nullptr, 0, &in, context_));
  const CUgraphNode start = AddFill(1, 0, {first});
  const CUgraphNode loop = AddLoop({AddFill(2, 5, {start})});
  ASSERT_OK(
      Graphs().cuGraphAddMemcpyNode(&last, graph_, &loop, 1, &out, context_));
  const CUgraphExec exec = Instantiate();
  for (const unsigned count : {2u, 7u}) {
    rounds = count;
    Run(exec);
    EXPECT_EQ(sum, 5 * count);
  }
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
}

// The kernel and the conditional node come together, though only the node is
// behind the function. Other kernels do not.
TEST_F(Conditional, AFunctionIsBesideAKernelThatSetsACondition) {
  std::atomic<int> calls = 0;
  CUgraphConditionalHandle handle = NewHandle(0), other = NewHandle(0);
  unsigned value = 1;
  void* values[] = {&handle, &value};
  const CUgraphNode choose = AddKernel(set_, values, {}, graph_);
  CUgraphNode node = nullptr, second = nullptr;
  AddFill(0, 1, {},
          AddConditional(handle, CU_GRAPH_COND_TYPE_IF, 1,
                         {choose, AddCall(&calls, {})}, &node)[0]);
  AddFill(
      1, 1, {},
      AddConditional(other, CU_GRAPH_COND_TYPE_IF, 1, {choose}, &second)[0]);
  const CUgraphExec exec = Instantiate();
  Run(exec);
  ExpectArray(0, 1);
  ExpectArray(1, 0);
  // The kernel sets the condition of the other node now.
  values[0] = &other;
  CUDA_KERNEL_NODE_PARAMS p{};
  ASSERT_OK(Graphs().cuGraphKernelNodeGetParams_v2(choose, &p));
  p.kernelParams = values;
  ASSERT_OK(Graphs().cuGraphExecKernelNodeSetParams_v2(exec, choose, &p));
  ASSERT_OK(Cuda().cuMemsetD32_v2(array(0), 0, kWords));
  Run(exec);
  ExpectArray(0, 0);
  ExpectArray(1, 1);
  EXPECT_EQ(calls, 2);
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
}

TEST_F(Conditional, AFunctionIsBetweenAKernelAndItsCondition) {
  std::atomic<int> calls = 0;
  CUgraphConditionalHandle handle = NewHandle(0);
  unsigned value = 1;
  void* values[] = {&handle, &value};
  const CUgraphNode call =
      AddCall(&calls, {AddKernel(set_, values, {}, graph_)});
  CUgraphNode node = nullptr;
  AddFill(0, 1, {},
          AddConditional(handle, CU_GRAPH_COND_TYPE_IF, 1, {call}, &node)[0]);
  RunOnce();
  ExpectArray(0, 1);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace holdfast::conformance
