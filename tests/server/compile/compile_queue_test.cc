// SPDX-License-Identifier: Apache-2.0
#include "server/compile/compile_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace holdfast {
namespace {

// Threads that wait in a queue, in the order in which they were started, and
// the order in which they are served.
class CompileQueueTest : public testing::Test {
 protected:
  ~CompileQueueTest() override {
    for (std::thread& thread : threads_) thread.join();
  }

  // Returns once the request waits. It leaves as soon as it is served.
  void StartWaiting(const std::string& name) {
    const size_t length = queue_.length();
    threads_.emplace_back([this, name] {
      CompileCaller caller;
      caller.name = name;
      ASSERT_TRUE(queue_.Enter(caller).ok());
      {
        absl::MutexLock lock(&mutex_);
        served_ += name;
      }
      queue_.Leave();
    });
    while (queue_.length() == length) std::this_thread::yield();
  }

  void Take() { ASSERT_TRUE(queue_.Enter({.name = "first"}).ok()); }
  void ServeAll() {
    queue_.Leave();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  CompileQueue queue_{/*slots=*/1, /*max_waiting=*/16};
  absl::Mutex mutex_;
  std::string served_;
  std::vector<std::thread> threads_;
};

TEST_F(CompileQueueTest, CallersTakeTurns) {
  Take();
  for (const char* name : {"a", "a", "a", "a", "b", "b", "c"}) {
    StartWaiting(name);
  }
  ServeAll();
  EXPECT_EQ(served_, "abcabaa");
  EXPECT_EQ(queue_.length(), 0u);
}

TEST_F(CompileQueueTest, APlaceIsThatInTheOrderOfService) {
  Take();
  for (const char* name : {"a", "a", "b", "b", "b"}) StartWaiting(name);
  // They are served in the order a b a b b: another b comes last, and c's first
  // after the first of each.
  std::vector<CompileStage> places;
  for (const char* name : {"b", "c"}) {
    CompileCaller caller;
    caller.name = name;
    caller.report = [&](const CompileStage& stage) { places.push_back(stage); };
    caller.gone = [&, asked = 0]() mutable { return ++asked > 2; };
    EXPECT_EQ(queue_.Enter(caller).code(), absl::StatusCode::kCancelled);
  }
  ASSERT_EQ(places.size(), 4u);  // two looks each
  EXPECT_EQ(places[0], (CompileStage{6, 6}));
  EXPECT_EQ(places[2], (CompileStage{3, 6}));
  ServeAll();
  EXPECT_EQ(served_, "ababb");
}

TEST_F(CompileQueueTest, AFullQueueSaysHowLongItIs) {
  Take();
  for (int i = 0; i < 16; ++i) StartWaiting(std::string(1, 'a' + i));
  const absl::Status status = queue_.Enter({.name = "a"});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("16 requests wait"), absl::string_view::npos)
      << status;
  ServeAll();
  EXPECT_TRUE(queue_.Enter({.name = "a"}).ok());
}

TEST_F(CompileQueueTest, ANewcomerGetsAPlaceInAFullQueue) {
  Take();
  for (int i = 0; i < 16; ++i) StartWaiting(std::string(1, 'a' + i));
  StartWaiting("z");
  ServeAll();
  EXPECT_EQ(served_, "abcdefghijklmnopz");
}

TEST_F(CompileQueueTest, OneCallerCannotFillTheQueue) {
  Take();
  for (int i = 0; i < 8; ++i) StartWaiting("a");
  EXPECT_EQ(queue_.Enter({.name = "a"}).code(),
            absl::StatusCode::kResourceExhausted);
  StartWaiting("b");
  ServeAll();
  EXPECT_EQ(served_, "abaaaaaaa");
}

TEST_F(CompileQueueTest, WhoHasGoneIsNotServed) {
  Take();
  StartWaiting("a");
  std::atomic<bool> gone = false;
  std::thread leaving([&] {
    CompileCaller caller;
    caller.name = "b";
    caller.gone = [&gone] { return gone.load(); };
    EXPECT_EQ(queue_.Enter(caller).code(), absl::StatusCode::kCancelled);
  });
  while (queue_.length() < 2) std::this_thread::yield();
  StartWaiting("c");
  gone = true;
  leaving.join();
  EXPECT_EQ(queue_.length(), 2u);
  ServeAll();
  EXPECT_EQ(served_, "ac");
}

TEST(CompileQueueStressTest, NeverMoreThanTheSlotsAndNobodyIsForgotten) {
  CompileQueue queue(2, 64);
  std::atomic<int> inside = 0, most = 0, served = 0, cancelled = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        CompileCaller caller;
        caller.name = std::string(1, static_cast<char>('a' + t % 3));
        caller.gone = [impatient = i % 5 == 0, asked = 0]() mutable {
          return impatient && asked++ > 0;
        };
        if (!queue.Enter(caller).ok()) {
          ++cancelled;
          continue;
        }
        const int now = ++inside;
        if (now > most) most = now;
        std::this_thread::yield();
        --inside;
        ++served;
        queue.Leave();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 2);
  EXPECT_EQ(served + cancelled, 8 * 200);
  EXPECT_EQ(queue.length(), 0u);
  EXPECT_TRUE(queue.Enter({}).ok());
  EXPECT_TRUE(queue.Enter({}).ok());
}

}  // namespace
}  // namespace holdfast
