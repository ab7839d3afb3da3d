// SPDX-License-Identifier: Apache-2.0
//
// Definitions: nodes, dependencies, queries, clones.
#include <algorithm>

#include "tests/conformance/graph/graph_api.h"

namespace holdfast::conformance {
namespace {

class Definition : public GraphTest {
 protected:
  Nodes NodesOf(CUgraph graph) {
    size_t count = 0;
    EXPECT_OK(Graphs().cuGraphGetNodes(graph, nullptr, &count));
    Nodes nodes(count);
    EXPECT_OK(Graphs().cuGraphGetNodes(graph, nodes.data(), &count));
    return nodes;
  }
  CUresult Connect(CUgraphNode from, CUgraphNode to) {
    return Graphs().cuGraphAddDependencies_v2(graph_, &from, &to, nullptr, 1);
  }
  CUresult Disconnect(CUgraphNode from, CUgraphNode to) {
    return Graphs().cuGraphRemoveDependencies_v2(graph_, &from, &to, nullptr,
                                                 1);
  }
};

TEST_F(Definition, CreateRefusesFlagsAndNull) {
  CUgraph graph = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Graphs().cuGraphCreate(&graph, 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Graphs().cuGraphCreate(nullptr, 0));
}

TEST_F(Definition, AnEmptyGraphRuns) { RunOnce(); }

TEST_F(Definition, NodesKnowTheirTypes) {
  const auto expect = [](CUgraphNodeType type, CUgraphNode node) {
    CUgraphNodeType found;
    EXPECT_OK(Graphs().cuGraphNodeGetType(node, &found));
    EXPECT_EQ(found, type);
  };
  expect(CU_GRAPH_NODE_TYPE_EMPTY, AddEmpty());
  expect(CU_GRAPH_NODE_TYPE_MEMSET, AddFill(0, 1));
  expect(CU_GRAPH_NODE_TYPE_MEMCPY, AddCopy(1, 0));
  expect(CU_GRAPH_NODE_TYPE_KERNEL, AddAffine(2, 0, 1));
}

TEST_F(Definition, DependenciesOrderNodes) {
  const CUgraphNode fill = AddFill(0, 5);
  const CUgraphNode copy = AddCopy(1, 0, {fill});
  const CUgraphNode kernel = AddAffine(1, 0, 3, {copy});
  AddCopy(2, 1, {kernel});
  RunOnce();
  ExpectArray(2, 5 * 3 + 5);
}

TEST_F(Definition, ADependencyAddedLaterOrdersNodes) {
  const CUgraphNode kernel = AddAffine(1, 0, 0);
  const CUgraphNode fill = AddFill(0, 7);
  ASSERT_OK(Connect(fill, kernel));
  RunOnce();
  ExpectArray(1, 7);
}

TEST_F(Definition, EdgesAndRootsAreListed) {
  const CUgraphNode a = AddEmpty();
  const CUgraphNode b = AddEmpty();
  const CUgraphNode c = AddEmpty({a, b});
  size_t count = 0;
  ASSERT_OK(
      Graphs().cuGraphGetEdges_v2(graph_, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(count, 2u);
  count = 4;  // more than there are: the rest becomes null
  Nodes from(4, c), to(4, c);
  ASSERT_OK(Graphs().cuGraphGetEdges_v2(graph_, from.data(), to.data(), nullptr,
                                        &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(to, (Nodes{c, c, nullptr, nullptr}));
  std::sort(from.begin(), from.begin() + 2);
  EXPECT_EQ(from[2], nullptr);

  count = 0;
  ASSERT_OK(Graphs().cuGraphGetRootNodes(graph_, nullptr, &count));
  EXPECT_EQ(count, 2u);
  count = 1;
  CUgraphNode only = nullptr;
  ASSERT_OK(
      Graphs().cuGraphNodeGetDependentNodes_v2(a, &only, nullptr, &count));
  EXPECT_EQ(only, c);
  Nodes both(2);
  count = 2;
  ASSERT_OK(
      Graphs().cuGraphNodeGetDependencies_v2(c, both.data(), nullptr, &count));
  EXPECT_EQ(both, (Nodes{a, b}));
}

TEST_F(Definition, WrongEdgesAreRefused) {
  const CUgraphNode a = AddEmpty();
  const CUgraphNode b = AddEmpty({a});
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Connect(a, a));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Connect(a, b));     // there is one
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Disconnect(b, a));  // there is none
  CUgraph other = nullptr;
  ASSERT_OK(Graphs().cuGraphCreate(&other, 0));
  const CUgraphNode foreign = AddEmpty({}, other);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Connect(a, foreign));
  CUgraphNode node = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Graphs().cuGraphAddEmptyNode(&node, graph_, &foreign, 1));
  const Nodes twice{a, a};
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Graphs().cuGraphAddEmptyNode(&node, graph_, twice.data(), 2));
  EXPECT_EQ(NodesOf(graph_).size(), 2u);
  EXPECT_OK(Graphs().cuGraphDestroy(other));
}

TEST_F(Definition, ACycleIsFoundWhenTheGraphIsInstantiated) {
  const CUgraphNode a = AddEmpty();
  const CUgraphNode b = AddEmpty({a});
  ASSERT_OK(Connect(b, a));
  CUgraphExec exec = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Graphs().cuGraphInstantiateWithParams(
                                            &exec, graph_, &parameters));
  EXPECT_EQ(parameters.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
  EXPECT_TRUE(parameters.hErrNode_out == a || parameters.hErrNode_out == b);
  ASSERT_OK(Disconnect(b, a));
  RunOnce();
}

TEST_F(Definition, ADestroyedNodeTakesItsEdgesAlong) {
  const CUgraphNode a = AddFill(0, 1);
  const CUgraphNode b = AddFill(0, 2, {a});
  const CUgraphNode c = AddFill(1, 3, {b});
  ASSERT_OK(Graphs().cuGraphDestroyNode(b));
  EXPECT_EQ(NodesOf(graph_), (Nodes{a, c}));
  size_t count = 0;
  ASSERT_OK(
      Graphs().cuGraphGetEdges_v2(graph_, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(count, 0u);
  RunOnce();
  ExpectArray(0, 1);
}

TEST_F(Definition, ACloneIsApartFromItsOriginal) {
  const CUgraphNode fill = AddFill(0, 1);
  AddAffine(1, 0, 1, {fill});
  CUgraph clone = nullptr;
  ASSERT_OK(Graphs().cuGraphClone(&clone, graph_));
  CUgraphNode copy = nullptr;
  ASSERT_OK(Graphs().cuGraphNodeFindInClone(&copy, fill, clone));
  EXPECT_NE(copy, fill);
  const CUDA_MEMSET_NODE_PARAMS changed = FillOf(0, 9);
  ASSERT_OK(Graphs().cuGraphMemsetNodeSetParams(copy, &changed));
  RunOnce();
  ExpectArray(1, 1);
  const CUgraphExec exec = Instantiate(clone);
  Run(exec);
  ExpectArray(1, 1 + 9);
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
  ASSERT_OK(Graphs().cuGraphDestroyNode(copy));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Graphs().cuGraphNodeFindInClone(&copy, fill, clone));
  EXPECT_OK(Graphs().cuGraphDestroy(clone));
}

TEST_F(Definition, ParametersAreKeptByTheNode) {
  CUgraphNode kernel = nullptr;
  {
    Arguments arguments{array(1), array(0), 4};
    const CUDA_KERNEL_NODE_PARAMS p = AffineOf(arguments);
    ASSERT_OK(
        Graphs().cuGraphAddKernelNode_v2(&kernel, graph_, nullptr, 0, &p));
    arguments.factor = 0;  // too late to change anything
  }
  CUDA_KERNEL_NODE_PARAMS p{};
  ASSERT_OK(Graphs().cuGraphKernelNodeGetParams_v2(kernel, &p));
  EXPECT_EQ(p.func, affine_);
  EXPECT_EQ(p.blockDimX, 128u);
  EXPECT_EQ(*static_cast<unsigned*>(p.kernelParams[2]), 4u);
  const CUgraphNode fill = AddFill(3, 8);
  CUDA_MEMSET_NODE_PARAMS f{};
  ASSERT_OK(Graphs().cuGraphMemsetNodeGetParams(fill, &f));
  EXPECT_EQ(f.dst, array(3));
  EXPECT_EQ(f.value, 8u);
  EXPECT_EQ(f.width, kWords);
  CUDA_MEMCPY3D c{};
  ASSERT_OK(Graphs().cuGraphMemcpyNodeGetParams(AddCopy(2, 1), &c));
  EXPECT_EQ(c.dstDevice, array(2));
  EXPECT_EQ(c.srcDevice, array(1));
  EXPECT_EQ(c.WidthInBytes, kWords * sizeof(unsigned));
}

TEST_F(Definition, ParametersOfAnotherTypeAreRefused) {
  const CUgraphNode fill = AddFill(0, 1);
  const CUDA_MEMCPY3D copy = CopyOf(1, 0);
  CUDA_MEMCPY3D out{};
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Graphs().cuGraphMemcpyNodeSetParams(fill, &copy));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Graphs().cuGraphMemcpyNodeGetParams(fill, &out));
}

TEST_F(Definition, WrongFillsAreRefused) {
  CUgraphNode node = nullptr;
  const auto add = [&](const CUDA_MEMSET_NODE_PARAMS& fill) {
    return Graphs().cuGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill,
                                         context_);
  };
  CUDA_MEMSET_NODE_PARAMS fill = FillOf(0, 1);
  fill.elementSize = 3;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, add(fill));
  fill = FillOf(0, 1);
  fill.dst = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, add(fill));
  fill = FillOf(0, 1);
  fill.height = 2;
  fill.pitch = 4;  // less than a row
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, add(fill));
}

TEST_F(Definition, WrongKernelsAreRefused) {
  CUgraphNode node = nullptr;
  Arguments arguments{array(1), array(0), 1};
  CUDA_KERNEL_NODE_PARAMS kernel = AffineOf(arguments);
  kernel.blockDimX = 4096;
  EXPECT_CUDA(
      CUDA_ERROR_INVALID_VALUE,
      Graphs().cuGraphAddKernelNode_v2(&node, graph_, nullptr, 0, &kernel));
  kernel = AffineOf(arguments);
  kernel.kernelParams = nullptr;
  EXPECT_CUDA(
      CUDA_ERROR_INVALID_VALUE,
      Graphs().cuGraphAddKernelNode_v2(&node, graph_, nullptr, 0, &kernel));
}

TEST_F(Definition, BoxesAreCopiedAndFilledWithTheirPitches) {
  constexpr size_t kPitch = 40 * sizeof(unsigned);
  CUDA_MEMSET_NODE_PARAMS fill = FillOf(0, 6);
  fill.pitch = kPitch;
  fill.width = 3;
  fill.height = 5;
  CUgraphNode filled = nullptr;
  ASSERT_OK(Graphs().cuGraphAddMemsetNode(&filled, graph_, nullptr, 0, &fill,
                                          context_));
  CUDA_MEMCPY3D copy = CopyOf(1, 0);
  copy.srcPitch = kPitch;
  copy.srcXInBytes = sizeof(unsigned);
  copy.srcY = 1;
  copy.dstPitch = 2 * sizeof(unsigned);
  copy.WidthInBytes = 2 * sizeof(unsigned);
  copy.Height = 4;
  CUgraphNode node = nullptr;
  ASSERT_OK(Graphs().cuGraphAddMemcpyNode(&node, graph_, &filled, 1, &copy,
                                          context_));
  RunOnce();
  std::vector<unsigned> expected(kWords, 0);
  std::fill_n(expected.begin(), 8, 6);
  EXPECT_EQ(Read(1), expected);
}

TEST_F(Definition, GenericNodesDoTheSame) {
  CUgraphNodeParams p{};
  p.type = CU_GRAPH_NODE_TYPE_MEMSET;
  p.memset = {array(0), 0, 3, sizeof(unsigned), kWords, 1, context_};
  CUgraphNode fill = nullptr, copy = nullptr;
  ASSERT_OK(Graphs().cuGraphAddNode_v2(&fill, graph_, nullptr, nullptr, 0, &p));
  p = {};
  p.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  p.memcpy.copyCtx = context_;
  p.memcpy.copyParams = CopyOf(1, 0);
  ASSERT_OK(Graphs().cuGraphAddNode_v2(&copy, graph_, &fill, nullptr, 1, &p));
  p = {};
  p.type = CU_GRAPH_NODE_TYPE_MEMSET;
  p.memset = {array(0), 0, 4, sizeof(unsigned), kWords, 1, context_};
  ASSERT_OK(Graphs().cuGraphNodeSetParams(fill, &p));
  RunOnce();
  ExpectArray(1, 4);
}

TEST_F(Definition, HostFunctionsRunInTheirPlace) {
  unsigned seen = 0;
  CUdeviceptr from = array(0);
  const CUgraphNode fill = AddFill(0, 11);
  CUDA_MEMCPY3D copy = CopyOf(1, 0);
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = &seen;
  copy.srcDevice = from;
  copy.WidthInBytes = sizeof seen;
  CUgraphNode read = nullptr, host = nullptr;
  ASSERT_OK(
      Graphs().cuGraphAddMemcpyNode(&read, graph_, &fill, 1, &copy, context_));
  CUDA_HOST_NODE_PARAMS function{};
  function.fn = [](void* data) { *static_cast<unsigned*>(data) += 1; };
  function.userData = &seen;
  ASSERT_OK(Graphs().cuGraphAddHostNode(&host, graph_, &read, 1, &function));
  RunOnce();
  EXPECT_EQ(seen, 12u);
}

TEST_F(Definition, StaleHandlesAreRefused) {
  CUgraph graph = nullptr;
  ASSERT_OK(Graphs().cuGraphCreate(&graph, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Graphs().cuGraphDestroy(nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Graphs().cuGraphDestroyNode(nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Graphs().cuGraphLaunch(nullptr, stream_));
  EXPECT_OK(Graphs().cuGraphDestroy(graph));
}

}  // namespace
}  // namespace holdfast::conformance
