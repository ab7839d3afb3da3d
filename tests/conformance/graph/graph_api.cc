// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/graph/graph_api.h"

#include <cstdio>
#include <cstdlib>

namespace holdfast::conformance {
namespace {

constexpr int kVersion = 13000;

constexpr char kPtx[] = R"(
.version 7.0
.target sm_75
.address_size 64

.visible .entry affine(.param .u64 p_to, .param .u64 p_from,
                       .param .u32 p_factor, .param .u32 p_count)
{
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [p_to];
    ld.param.u64 %rd2, [p_from];
    ld.param.u32 %r1, [p_factor];
    ld.param.u32 %r2, [p_count];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r6, %r3, %r4, %r5;
    setp.ge.u32 %p1, %r6, %r2;
    @%p1 bra DONE;
    mul.wide.u32 %rd3, %r6, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r7, [%rd4];
    ld.global.u32 %r8, [%rd5];
    mad.lo.u32 %r7, %r7, %r1, %r8;
    st.global.u32 [%rd4], %r7;
DONE:
    ret;
}
)";

void* Find(const char* name) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status;
  Cuda().get_proc_address(name, &function, kVersion, 0, &status);
  if (function != nullptr) return function;
  fprintf(stderr, "driver under test: %s: not found\n", name);
  exit(1);
}

GraphApi Load() {
  GraphApi api;
#define HOLDFAST_FUNCTION(name) \
  api.name = reinterpret_cast<decltype(api.name)>(Find(#name));
#define HOLDFAST_VERSIONED(name, symbol) \
  api.symbol = reinterpret_cast<decltype(api.symbol)>(Find(#name));
#include "tests/conformance/graph/functions.inc"
#undef HOLDFAST_FUNCTION
#undef HOLDFAST_VERSIONED
  return api;
}

}  // namespace

const GraphApi& Graphs() {
  static const GraphApi api = Load();
  return api;
}

void GraphTest::SetUp() {
  ContextTest::SetUp();
  ASSERT_OK(Cuda().cuModuleLoadData(&module_, kPtx));
  ASSERT_OK(Cuda().cuModuleGetFunction(&affine_, module_, "affine"));
  constexpr size_t kAll = size_t{kArrays} * kWords;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&memory_, kAll * sizeof(unsigned)));
  ASSERT_OK(Cuda().cuMemsetD32_v2(memory_, 0, kAll));
  // The host does not wait for a memset, nor does a non-blocking stream.
  ASSERT_OK(Cuda().cuStreamSynchronize(nullptr));
  ASSERT_OK(Cuda().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(Graphs().cuGraphCreate(&graph_, 0));
}

void GraphTest::TearDown() {
  EXPECT_OK(Cuda().cuStreamSynchronize(stream_));
  EXPECT_OK(Graphs().cuGraphDestroy(graph_));
  EXPECT_OK(Cuda().cuStreamDestroy_v2(stream_));
  EXPECT_OK(Cuda().cuMemFree_v2(memory_));
  EXPECT_OK(Cuda().cuModuleUnload(module_));
  ContextTest::TearDown();
}

std::vector<unsigned> GraphTest::Read(int index) {
  std::vector<unsigned> words(kWords);
  EXPECT_OK(Cuda().cuMemcpyDtoH_v2(words.data(), array(index),
                                   kWords * sizeof(unsigned)));
  return words;
}

void GraphTest::ExpectArray(int index, unsigned value) {
  EXPECT_EQ(Read(index), std::vector<unsigned>(kWords, value))
      << "array " << index;
}

CUDA_MEMSET_NODE_PARAMS GraphTest::FillOf(int index, unsigned value) const {
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = array(index);
  fill.value = value;
  fill.elementSize = sizeof(unsigned);
  fill.width = kWords;
  fill.height = 1;
  return fill;
}

CUDA_MEMCPY3D GraphTest::CopyOf(int to, int from) const {
  CUDA_MEMCPY3D copy{};
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = array(to);
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = array(from);
  copy.WidthInBytes = kWords * sizeof(unsigned);
  copy.Height = 1;
  copy.Depth = 1;
  return copy;
}

CUDA_KERNEL_NODE_PARAMS GraphTest::AffineOf(Arguments& arguments) const {
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = affine_;
  kernel.gridDimX = (kWords + 127) / 128;
  kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = 128;
  kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = arguments.pointers;
  return kernel;
}

CUgraphNode GraphTest::AddFill(int index, unsigned value, const Nodes& after,
                               CUgraph graph) {
  CUgraphNode node = nullptr;
  const CUDA_MEMSET_NODE_PARAMS fill = FillOf(index, value);
  EXPECT_OK(Graphs().cuGraphAddMemsetNode(
      &node, graph == nullptr ? graph_ : graph, after.data(), after.size(),
      &fill, context_));
  return node;
}

CUgraphNode GraphTest::AddCopy(int to, int from, const Nodes& after,
                               CUgraph graph) {
  CUgraphNode node = nullptr;
  const CUDA_MEMCPY3D copy = CopyOf(to, from);
  EXPECT_OK(Graphs().cuGraphAddMemcpyNode(
      &node, graph == nullptr ? graph_ : graph, after.data(), after.size(),
      &copy, context_));
  return node;
}

CUgraphNode GraphTest::AddAffine(int to, int from, unsigned factor,
                                 const Nodes& after, CUgraph graph) {
  CUgraphNode node = nullptr;
  Arguments arguments{array(to), array(from), factor};
  const CUDA_KERNEL_NODE_PARAMS kernel = AffineOf(arguments);
  EXPECT_OK(
      Graphs().cuGraphAddKernelNode_v2(&node, graph == nullptr ? graph_ : graph,
                                       after.data(), after.size(), &kernel));
  return node;
}

CUgraphNode GraphTest::AddEmpty(const Nodes& after, CUgraph graph) {
  CUgraphNode node = nullptr;
  EXPECT_OK(Graphs().cuGraphAddEmptyNode(
      &node, graph == nullptr ? graph_ : graph, after.data(), after.size()));
  return node;
}

CUgraphExec GraphTest::Instantiate(CUgraph graph) {
  CUgraphExec exec = nullptr;
  EXPECT_OK(Graphs().cuGraphInstantiateWithFlags(
      &exec, graph == nullptr ? graph_ : graph, 0));
  return exec;
}

void GraphTest::Run(CUgraphExec exec) {
  EXPECT_OK(Graphs().cuGraphLaunch(exec, stream_));
  EXPECT_OK(Cuda().cuStreamSynchronize(stream_));
}

void GraphTest::RunOnce() {
  const CUgraphExec exec = Instantiate();
  Run(exec);
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
}

}  // namespace holdfast::conformance
