// SPDX-License-Identifier: Apache-2.0
//
// Nodes that allocate and free memory.
#include "tests/conformance/graph/graph_api.h"

namespace holdfast::conformance {
namespace {

class Memory : public GraphTest {
 protected:
  // Adds a node that allocates room for an array, which the device may use.
  CUgraphNode AddAllocation(
      CUdeviceptr* pointer,
      CUmemAllocationType type = CU_MEM_ALLOCATION_TYPE_PINNED,
      CUmemLocationType location = CU_MEM_LOCATION_TYPE_DEVICE) {
    CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device_},
                           CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUDA_MEM_ALLOC_NODE_PARAMS p{};
    p.poolProps.allocType = type;
    p.poolProps.location = {location, 0};
    p.bytesize = kWords * sizeof(unsigned);
    if (location == CU_MEM_LOCATION_TYPE_DEVICE) {
      p.poolProps.location.id = device_;
    } else {
      p.accessDescs = &access;
      p.accessDescCount = 1;
    }
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
  cuuint64_t Bytes(CUgraphMem_attribute attribute) {
    cuuint64_t bytes = 0;
    EXPECT_OK(
        Graphs().cuDeviceGetGraphMemAttribute(device_, attribute, &bytes));
    return bytes;
  }
  cuuint64_t Used() { return Bytes(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT); }
  // Frees what the graph has allocated, so that it can be launched again.
  void Free(CUdeviceptr memory) {
    ASSERT_OK(Cuda().cuMemFreeAsync(memory, stream_));
    ASSERT_OK(Cuda().cuStreamSynchronize(stream_));
  }
  // Runs graph_, and expects the host to find what a node stored.
  void ExpectVisibleToTheHost(CUdeviceptr memory) {
    const CUgraphExec exec = Instantiate();
    for (int i = 0; i < 2; ++i) {
      Run(exec);
      const auto* words = reinterpret_cast<const unsigned*>(memory);
      EXPECT_EQ(words[0], 21u);
      EXPECT_EQ(words[kWords - 1], 21u);
      ExpectArray(1, 21);
      Free(memory);
    }
    EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
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

// Neither a free nor the end of the graph returns the memory.
TEST_F(Memory, ItIsReservedUntilItIsTrimmed) {
  ASSERT_OK(Graphs().cuDeviceGraphMemTrim(device_));
  CUdeviceptr memory = 0;
  AddAllocation(&memory);
  const CUgraphExec exec = Instantiate();
  EXPECT_OK(Graphs().cuGraphDestroy(graph_));
  ASSERT_OK(Graphs().cuGraphCreate(&graph_, 0));  // for TearDown
  Run(exec);
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
  ASSERT_OK(Cuda().cuMemFreeAsync(memory, stream_));
  ASSERT_OK(Cuda().cuStreamSynchronize(stream_));
  constexpr size_t kBytes = kWords * sizeof(unsigned);
  const cuuint64_t used = Used();
  EXPECT_GE(used, kBytes);
  EXPECT_GE(Bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), kBytes);
  ASSERT_OK(Graphs().cuDeviceGraphMemTrim(device_));
  EXPECT_LT(Used(), used);
  EXPECT_GE(Bytes(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), kBytes);
  EXPECT_GE(Bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), kBytes);
}

TEST_F(Memory, AHighWaterMarkIsSetToZeroOnly) {
  for (const CUgraphMem_attribute mark :
       {CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH}) {
    cuuint64_t value = 0;
    EXPECT_OK(Graphs().cuDeviceSetGraphMemAttribute(device_, mark, &value));
    value = 1;
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
                Graphs().cuDeviceSetGraphMemAttribute(device_, mark, &value));
  }
}

// Whether the host may read it while the graph has it differs between drivers.
TEST_F(Memory, ManagedMemoryIsAllocatedByAGraph) {
  if (Attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) == 0) {
    GTEST_SKIP() << "no concurrent managed access";
  }
  CUdeviceptr memory = 0;
  const CUgraphNode allocation =
      AddAllocation(&memory, CU_MEM_ALLOCATION_TYPE_MANAGED);
  FillAndRead(memory, allocation);
  const CUgraphExec exec = Instantiate();
  for (int i = 0; i < 2; ++i) {
    Run(exec);
    ExpectArray(1, 21);
    Free(memory);
  }
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
}

TEST_F(Memory, HostMemoryIsOneForHostAndDevice) {
  CUDA_MEM_ALLOC_NODE_PARAMS wanted{};
  wanted.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.poolProps.location = {CU_MEM_LOCATION_TYPE_HOST, 0};
  wanted.bytesize = kWords * sizeof(unsigned);
  CUgraph probe = nullptr;
  CUgraphNode node = nullptr;
  ASSERT_OK(Graphs().cuGraphCreate(&probe, 0));
  const CUresult served =
      Graphs().cuGraphAddMemAllocNode(&node, probe, nullptr, 0, &wanted);
  EXPECT_OK(Graphs().cuGraphDestroy(probe));
  if (served == CUDA_ERROR_NOT_SUPPORTED) {
    GTEST_SKIP() << "graphs of this driver allocate no host memory";
  }
  CUdeviceptr memory = 0;
  const CUgraphNode allocation = AddAllocation(
      &memory, CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_HOST);
  FillAndRead(memory, allocation);
  ExpectVisibleToTheHost(memory);
}

TEST_F(Memory, AllocationsFromAPoolOfManagedMemoryAreCaptured) {
  if (Attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) == 0) {
    GTEST_SKIP() << "no concurrent managed access";
  }
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
  CUmemoryPool pool = nullptr;
  ASSERT_OK(Cuda().cuMemPoolCreate(&pool, &properties));
  ASSERT_OK(Graphs().cuStreamBeginCapture_v2(stream_,
                                             CU_STREAM_CAPTURE_MODE_RELAXED));
  CUdeviceptr memory = 0;
  ASSERT_OK(Cuda().cuMemAllocFromPoolAsync(&memory, kWords * sizeof(unsigned),
                                           pool, stream_));
  ASSERT_OK(Cuda().cuMemFreeAsync(memory, stream_));
  CUgraph graph = nullptr;
  ASSERT_OK(Graphs().cuStreamEndCapture(stream_, &graph));
  const CUgraphExec exec = Instantiate(graph);
  Run(exec);
  EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
  EXPECT_OK(Graphs().cuGraphDestroy(graph));
  EXPECT_OK(Cuda().cuMemPoolDestroy(pool));
}

}  // namespace
}  // namespace holdfast::conformance
