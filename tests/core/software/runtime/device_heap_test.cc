// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/device_heap.h"

#include "gtest/gtest.h"

namespace holdfast::software {
namespace {

TEST(DeviceHeapTest, GivesOutNoMoreThanItsLimitAndKeepsItOnceInUse) {
  DeviceHeap& heap = DeviceHeap::Get();
  ASSERT_TRUE(heap.SetLimit(1 << 16));
  EXPECT_EQ(heap.Allocate((1 << 16) + 1), nullptr);
  void* const first = heap.Allocate(40000);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(heap.Allocate(40000), nullptr);
  EXPECT_FALSE(heap.SetLimit(1 << 20));
  heap.Free(first);
  void* const whole = heap.Allocate(1 << 16);
  EXPECT_EQ(whole, first);
  EXPECT_EQ(heap.Allocate(1), nullptr);
}

}  // namespace
}  // namespace holdfast::software
