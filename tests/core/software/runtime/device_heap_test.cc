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
  heap.Free(whole);
}

// As an H200 has it: only a block that is free once more is a mistake.
TEST(DeviceHeapTest, FindsABlockThatIsFreedTwice) {
  DeviceHeap& heap = DeviceHeap::Get();
  auto* const block = static_cast<char*>(heap.Allocate(64));
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(heap.Free(nullptr));
  EXPECT_TRUE(heap.Free(block + 16));
  EXPECT_TRUE(heap.Free(block));
  EXPECT_FALSE(heap.Free(block));
  void* const next = heap.Allocate(64);
  EXPECT_EQ(next, block);
  EXPECT_TRUE(heap.Free(next));
  // A larger block begins in front of what was freed, and takes it over.
  void* const left = heap.Allocate(64);
  void* const right = heap.Allocate(64);
  EXPECT_TRUE(heap.Free(right));
  EXPECT_TRUE(heap.Free(left));
  void* const both = heap.Allocate(128);
  EXPECT_EQ(both, left);
  EXPECT_TRUE(heap.Free(right));
  EXPECT_TRUE(heap.Free(both));
  EXPECT_FALSE(heap.Free(left));
}

TEST(DeviceHeapTest, EndsWithItsBlocksAndItsLimit) {
  DeviceHeap& heap = DeviceHeap::Get();
  void* const block = heap.Allocate(64);
  ASSERT_NE(block, nullptr);
  heap.Clear();
  EXPECT_TRUE(heap.Free(block)) << "no block of the new heap";
  EXPECT_TRUE(heap.SetLimit(1 << 16));
  EXPECT_NE(heap.Allocate(64), nullptr);
  EXPECT_FALSE(heap.SetLimit(1 << 20));
  heap.Clear();
  EXPECT_NE(heap.Allocate(4 << 20), nullptr) << "of 8 MiB";
}

}  // namespace
}  // namespace holdfast::software
