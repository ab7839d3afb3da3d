// SPDX-License-Identifier: Apache-2.0
#include "core/software/base/memory_room.h"

#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace holdfast::software {
namespace {

constexpr rlim_t kGibibyte = rlim_t{1} << 30;

// The bytes that RLIMIT_DATA counts.
rlim_t DataBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  rlim_t kibibytes = 0;
  while (status >> word && word != "VmData:") {
  }
  status >> kibibytes;
  return kibibytes << 10;
}

// Leaves the process so many bytes while the object lives.
class LimitedData {
 public:
  explicit LimitedData(rlim_t bytes) {
    getrlimit(RLIMIT_DATA, &before_);
    const struct rlimit limit = {DataBytes() + bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_DATA, &limit), 0);
  }
  ~LimitedData() { setrlimit(RLIMIT_DATA, &before_); }
  LimitedData(const LimitedData&) = delete;
  LimitedData& operator=(const LimitedData&) = delete;

 private:
  struct rlimit before_ = {};
};

TEST(MemoryRoomTest, AProcessKeepsRoom) {
  EXPECT_TRUE(HasMemoryRoom(1, RoomFor::kThread));
  const LimitedData limited(3 * kGibibyte);
  EXPECT_TRUE(HasMemoryRoom(kGibibyte, RoomFor::kThread));
  EXPECT_FALSE(HasMemoryRoom(3 * kGibibyte, RoomFor::kKernel));
  EXPECT_FALSE(HasMemoryRoom(3 * kGibibyte, RoomFor::kThread));
}

// All workers of a launch may ask at once.
TEST(MemoryRoomTest, ThreadsThatAskDoNotTakeEachOthersRoom) {
  constexpr int kThreads = 16;
  constexpr int kQuestions = 2000;
  std::vector<std::thread> threads;
  std::atomic<int> refused{0};
  const LimitedData limited(3 * kGibibyte);
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
