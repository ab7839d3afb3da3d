// SPDX-License-Identifier: Apache-2.0
//
// The memory of graphs on a device that is full.
#include <gtest/gtest.h>

#include <memory>

#include "core/software/driver/driver.h"
#include "core/software/driver/graph/allocation.h"

namespace holdfast::software {
namespace {

class GraphMemoryTest : public ::testing::Test {
 protected:
  std::shared_ptr<GraphAllocation> Create(size_t size) {
    std::shared_ptr<GraphAllocation> allocation;
    EXPECT_EQ(memory_.Create(device_, MemoryKind::kGraph, driver_.memory, size,
                             &allocation),
              CUDA_SUCCESS);
    return allocation;
  }
  cuuint64_t Bytes(CUgraphMem_attribute attribute) {
    cuuint64_t bytes = 0;
    EXPECT_EQ(memory_.GetAttribute(device_, attribute, &bytes), CUDA_SUCCESS);
    return bytes;
  }

  Driver& driver_ = Driver::Get();
  Device& device_ = *driver_.FindDevice(0);
  GraphMemory& memory_ = GraphMemory::Get();
};

TEST_F(GraphMemoryTest, ALaunchThatFindsNoRoomReservesNothing) {
  const size_t size = device_.memory().total() / 4 * 3;
  const auto first = Create(size), second = Create(size);
  EXPECT_EQ(memory_.Begin({.kept = {first, second}}, /*auto_free=*/false),
            CUDA_ERROR_OUT_OF_MEMORY);
  for (const auto attribute :
       {CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
        CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH}) {
    EXPECT_EQ(Bytes(attribute), 0u);
  }
  // There is room for the second alone.
  EXPECT_EQ(memory_.Begin({.kept = {second}}, /*auto_free=*/false),
            CUDA_SUCCESS);
  EXPECT_GE(Bytes(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), size);
  // The second graph keeps its memory, and the first graph still has none.
  EXPECT_EQ(memory_.Begin({.temporary = {first}}, /*auto_free=*/false),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(memory_.Free(*second), CUDA_SUCCESS);
  memory_.Trim(device_);
  EXPECT_EQ(Bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0u);
}

}  // namespace
}  // namespace holdfast::software
