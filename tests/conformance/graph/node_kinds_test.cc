// SPDX-License-Identifier: Apache-2.0
//
// Kinds of nodes beyond kernels, copies and fills: batches of memory
// operations, memory, conditions; user objects; DOT.
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "tests/conformance/graph/graph_api.h"

namespace holdfast::conformance {
namespace {

// countdown(handle, unsigned* left): --*left; the condition is whether any is
//   left, by one thread
// set(handle, unsigned value): the condition is `value`
constexpr char kConditionPtx[] = R"(
.version 8.3
.target sm_75
.address_size 64

.extern .func cudaGraphSetConditional(.param .b64 p_handle,
                                      .param .b32 p_value);

.visible .entry countdown(.param .u64 p_handle, .param .u64 p_left)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p_handle];
    ld.param.u64 %rd2, [p_left];
    ld.global.u32 %r1, [%rd2];
    sub.u32 %r2, %r1, 1;
    st.global.u32 [%rd2], %r2;
    setp.ne.u32 %p1, %r2, 0;
    selp.u32 %r3, 1, 0, %p1;
    {
    .param .b64 param0;
    .param .b32 param1;
    st.param.b64 [param0], %rd1;
    st.param.b32 [param1], %r3;
    call.uni cudaGraphSetConditional, (param0, param1);
    }
    ret;
}

.visible .entry set(.param .u64 p_handle, .param .u32 p_value)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p_handle];
    ld.param.u32 %r1, [p_value];
    {
    .param .b64 param0;
    .param .b32 param1;
    st.param.b64 [param0], %rd1;
    st.param.b32 [param1], %r1;
    call.uni cudaGraphSetConditional, (param0, param1);
    }
    ret;
}
)";

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

class Memory : public GraphTest {
 protected:
  // Adds a node that allocates room for an array.
  CUgraphNode AddAllocation(CUdeviceptr* pointer) {
    CUDA_MEM_ALLOC_NODE_PARAMS p{};
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
    p.bytesize = kWords * sizeof(unsigned);
    CUgraphNode node = nullptr;
    EXPECT_OK(Graphs().cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, &p));
    EXPECT_NE(p.dptr, 0u);
    *pointer = p.dptr;
    return node;
  }
  CUgraphNode FillAndRead(CUdeviceptr memory, CUgraphNode after) {
    CUDA_MEMSET_NODE_PARAMS fill = FillOf(0, 21);
    fill.dst = memory;
    CUgraphNode filled = nullptr, copied = nullptr;
    EXPECT_OK(Graphs().cuGraphAddMemsetNode(&filled, graph_, &after, 1, &fill,
                                            context_));
    CUDA_MEMCPY3D copy = CopyOf(1, 0);
    copy.srcDevice = memory;
    EXPECT_OK(Graphs().cuGraphAddMemcpyNode(&copied, graph_, &filled, 1, &copy,
                                            context_));
    return copied;
  }
  cuuint64_t Used() {
    cuuint64_t bytes = 0;
    EXPECT_OK(Graphs().cuDeviceGetGraphMemAttribute(
        device_, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes));
    return bytes;
  }
};

TEST_F(Memory, AllocatedAndFreedWithinAGraph) {
  CUdeviceptr memory = 0, found = 0;
  const CUgraphNode allocation = AddAllocation(&memory);
  const CUgraphNode last = FillAndRead(memory, allocation);
  CUgraphNode free = nullptr;
  ASSERT_OK(Graphs().cuGraphAddMemFreeNode(&free, graph_, &last, 1, memory));
  ASSERT_OK(Graphs().cuGraphMemFreeNodeGetParams(free, &found));
  EXPECT_EQ(found, memory);
  const CUgraphExec exec = Instantiate();
  Run(exec);
  ExpectArray(1, 21);
  Run(exec);
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
  EXPECT_OK(Graphs().cuDeviceGraphMemTrim(device_));
}

TEST_F(Memory, LeftToOthersItMustBeFreedBeforeTheNextLaunch) {
  CUdeviceptr memory = 0;
  const CUgraphNode allocation = AddAllocation(&memory);
  FillAndRead(memory, allocation);
  const CUgraphExec exec = Instantiate();
  Run(exec);
  EXPECT_GE(Used(), kWords * sizeof(unsigned));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Graphs().cuGraphLaunch(exec, stream_));
  EXPECT_OK(
      Cuda().cuMemcpyDtoD_v2(array(2), memory, kWords * sizeof(unsigned)));
  ExpectArray(2, 21);
  ASSERT_OK(Cuda().cuMemFreeAsync(memory, stream_));
  Run(exec);
  ASSERT_OK(Cuda().cuMemFreeAsync(memory, stream_));
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
}

TEST_F(Memory, ItIsFreedByTheNextLaunchIfAskedFor) {
  CUdeviceptr memory = 0;
  const CUgraphNode allocation = AddAllocation(&memory);
  FillAndRead(memory, allocation);
  CUgraphExec exec = nullptr;
  ASSERT_OK(Graphs().cuGraphInstantiateWithFlags(
      &exec, graph_, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  for (int i = 0; i < 3; ++i) Run(exec);
  ExpectArray(1, 21);
  ASSERT_OK(Cuda().cuMemFreeAsync(memory, stream_));
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
}

TEST_F(Memory, GraphsWithMemoryKeepTheirNodes) {
  CUdeviceptr memory = 0;
  const CUgraphNode allocation = AddAllocation(&memory);
  const CUgraphNode other = AddEmpty({allocation});
  CUgraph clone = nullptr;
  EXPECT_CUDA(CUDA_ERROR_NOT_SUPPORTED, Graphs().cuGraphClone(&clone, graph_));
  EXPECT_CUDA(CUDA_ERROR_NOT_SUPPORTED, Graphs().cuGraphDestroyNode(other));
  EXPECT_CUDA(CUDA_ERROR_NOT_SUPPORTED,
              Graphs().cuGraphRemoveDependencies_v2(graph_, &allocation, &other,
                                                    nullptr, 1));
  CUgraphNode free = nullptr;
  ASSERT_OK(Graphs().cuGraphAddMemFreeNode(&free, graph_, &other, 1, memory));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Graphs().cuGraphAddMemFreeNode(&free, graph_, &other, 1, memory));
  EXPECT_CUDA(
      CUDA_ERROR_INVALID_VALUE,
      Graphs().cuGraphAddMemFreeNode(&free, graph_, &other, 1, array(0)));
  const CUgraphExec exec = Instantiate();
  CUgraphExec second = nullptr;
  EXPECT_CUDA(CUDA_ERROR_NOT_SUPPORTED,
              Graphs().cuGraphInstantiateWithFlags(&second, graph_, 0));
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
}

class Conditional : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    ASSERT_OK(Cuda().cuModuleLoadData(&conditions_, kConditionPtx));
    ASSERT_OK(
        Cuda().cuModuleGetFunction(&countdown_, conditions_, "countdown"));
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
                                      CUgraphNode* node) {
    CUgraphNodeParams p{};
    p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    p.conditional.handle = handle;
    p.conditional.type = type;
    p.conditional.size = size;
    p.conditional.ctx = context_;
    EXPECT_OK(Graphs().cuGraphAddNode_v2(node, graph_, after.data(), nullptr,
                                         after.size(), &p));
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

  CUmodule conditions_ = nullptr;
  CUfunction countdown_ = nullptr, set_ = nullptr;
};

TEST_F(Conditional, AWhileLoopRunsUntilAKernelEndsIt) {
  CUgraphConditionalHandle handle = NewHandle(1);
  const CUgraphNode rounds = AddFill(0, 10);
  const CUgraphNode start = AddFill(1, 0, {rounds});
  const CUgraphNode one = AddFill(2, 1, {start});
  CUgraphNode loop = nullptr;
  const CUgraph body =
      AddConditional(handle, CU_GRAPH_COND_TYPE_WHILE, 1, {one}, &loop)[0];
  const CUgraphNode add = AddAffine(1, 2, 1, {}, body);
  CUdeviceptr left = array(0);
  void* values[] = {&handle, &left};
  AddKernel(countdown_, values, {add}, body);
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
