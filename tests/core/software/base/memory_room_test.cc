// SPDX-License-Identifier: Apache-2.0
#include "core/software/base/memory_room.h"

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "core/base/sanitizer.h"
#include "gtest/gtest.h"
#include "tests/testing/memory_limit.h"

namespace holdfast::software {
namespace {

constexpr size_t kGibibyte = size_t{1} << 30;

TEST(MemoryRoomTest, AProcessKeepsRoom) {
  if (kSanitized) GTEST_SKIP();
  EXPECT_TRUE(HasMemoryRoom(8 * kGibibyte, RoomFor::kThread));
  const testing::MemoryLimit limit(3 * kGibibyte);
  EXPECT_TRUE(HasMemoryRoom(2 * kGibibyte, RoomFor::kThread));
  EXPECT_TRUE(HasMemoryRoom(5 * kGibibyte / 2, RoomFor::kKernel));
  EXPECT_FALSE(HasMemoryRoom(5 * kGibibyte / 2, RoomFor::kThread));
  EXPECT_FALSE(HasMemoryRoom(3 * kGibibyte, RoomFor::kKernel));
}

// All workers of a launch may ask at once.
TEST(MemoryRoomTest, ThreadsThatAskDoNotTakeEachOthersRoom) {
  if (kSanitized) GTEST_SKIP();
  constexpr int kThreads = 16;
  constexpr int kQuestions = 2000;
  const testing::MemoryLimit limit(3 * kGibibyte);
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kQuestions; ++k) {
        if (!HasMemoryRoom(1 << 20, RoomFor::kThread)) ++refused;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace holdfast::software
