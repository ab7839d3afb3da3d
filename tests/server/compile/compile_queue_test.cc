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
      const auto turn = queue_.Enter(caller);
      ASSERT_TRUE(turn.ok());
      absl::MutexLock lock(&mutex_);
      served_ += name;
    });
    while (queue_.length() == length) std::this_thread::yield();
  }

  void Take() { taken_ = queue_.Enter({.name = "first"}).value(); }
  void ServeAll() {
    taken_.reset();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  CompileQueue queue_{/*slots=*/1, /*max_waiting=*/16};
  std::unique_ptr<CompileQueue::Turn> taken_;
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
    EXPECT_EQ(queue_.Enter(caller).status().code(),
              absl::StatusCode::kCancelled);
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
  const absl::Status status = queue_.Enter({.name = "a"}).status();
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
  EXPECT_EQ(queue_.Enter({.name = "a"}).status().code(),
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
    EXPECT_EQ(queue_.Enter(caller).status().code(),
              absl::StatusCode::kCancelled);
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
        const auto turn = queue.Enter(caller);
        if (!turn.ok()) {
          ++cancelled;
          continue;
        }
        const int now = ++inside;
        if (now > most) most = now;
        std::this_thread::yield();
        --inside;
        ++served;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 2);
  EXPECT_EQ(served + cancelled, 8 * 200);
  EXPECT_EQ(queue.length(), 0u);
  const auto one = queue.Enter({});
  EXPECT_TRUE(one.ok());
  EXPECT_TRUE(queue.Enter({}).ok());
}

// Three slots, and a time that goes on when the test says so.
class CompileSlotsTest : public testing::Test {
 protected:
  using Turn = std::unique_ptr<CompileQueue::Turn>;

  // nullptr: the caller waits; it looks twice and goes.
  Turn Try(const std::string& name) {
    CompileCaller caller;
    caller.name = name;
    caller.gone = [asked = 0]() mutable { return asked++ > 1; };
    auto turn = queue_.Enter(caller);
    return turn.ok() ? *std::move(turn) : nullptr;
  }

  std::atomic<int> seconds_ = 0;
  CompileQueue queue_{/*slots=*/3, /*max_waiting=*/16,
                      [this] { return absl::Seconds(seconds_.load()); }};
};

TEST_F(CompileSlotsTest, CallerAloneHasAll) {
  const Turn turns[] = {Try("a"), Try("a"), Try("a")};
  for (const Turn& turn : turns) EXPECT_NE(turn, nullptr);
  EXPECT_EQ(Try("a"), nullptr);
}

TEST_F(CompileSlotsTest, OneIsLeftToOthersWhoAreKnown) {
  EXPECT_NE(Try("b"), nullptr);
  const Turn first = Try("a");
  const Turn second = Try("a");
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(Try("a"), nullptr);
  EXPECT_NE(Try("b"), nullptr);
  EXPECT_NE(Try("c"), nullptr);
  EXPECT_EQ(Try("a"), nullptr);
  seconds_ += 60;
  EXPECT_NE(Try("a"), nullptr);
}

TEST_F(CompileSlotsTest, WaitingCallerGetsTheSlotOnceTheOthersAreForgotten) {
  EXPECT_NE(Try("b"), nullptr);
  const Turn first = Try("a");
  const Turn second = Try("a");
  CompileCaller caller;
  caller.name = "a";
  caller.report = [this](const CompileStage&) { seconds_ = 60; };
  EXPECT_TRUE(queue_.Enter(caller).ok());
}

TEST_F(CompileSlotsTest, StrangerTakesTheLongestJobOfWhoHasAll) {
  Turn turns[] = {Try("a"), Try("a"), Try("a")};
  CompileCaller stranger;
  stranger.name = "b";
  int looks = 0;
  stranger.report = [&](const CompileStage&) {
    if (++looks == 2) {
      EXPECT_FALSE(turns[0]->recalled()) << "it has hardly waited";
      seconds_ += 1;
    } else if (looks > 2) {
      EXPECT_TRUE(turns[0]->recalled());
      turns[0].reset();
    }
  };
  const auto turn = queue_.Enter(stranger);
  ASSERT_TRUE(turn.ok());
  EXPECT_FALSE(turns[1]->recalled());
  EXPECT_FALSE(turns[2]->recalled());
  // Who had all waits for the stranger, but for nobody behind it.
  EXPECT_EQ(Try("a"), nullptr);
}

TEST_F(CompileSlotsTest, NobodyIsRecalledWhereTwoShareTheSlots) {
  const Turn turns[] = {Try("a"), Try("b"), Try("a")};
  CompileCaller third;
  third.name = "c";
  third.report = [&](const CompileStage&) { seconds_ += 10; };
  third.gone = [asked = 0]() mutable { return asked++ > 3; };
  EXPECT_FALSE(queue_.Enter(third).ok());
  for (const Turn& turn : turns) EXPECT_FALSE(turn->recalled());
}

TEST_F(CompileSlotsTest, RecalledJobIsTheFirstOfItsLine) {
  std::vector<Turn> turns;
  for (int i = 0; i < 3; ++i) turns.push_back(Try("a"));
  absl::Mutex mutex;
  std::string served;
  std::vector<std::thread> waiting;
  const auto wait = [&](const char* as, bool again) {
    const size_t length = queue_.length();
    waiting.emplace_back([&, as, again] {
      CompileCaller caller;
      caller.name = "a";
      const auto turn =
          again ? queue_.EnterAgain(caller) : queue_.Enter(caller);
      ASSERT_TRUE(turn.ok());
      absl::MutexLock lock(&mutex);
      served += as;
    });
    while (queue_.length() == length) std::this_thread::yield();
  };
  wait("second", false);
  wait("recalled ", true);
  turns.pop_back();
  for (std::thread& thread : waiting) thread.join();
  EXPECT_EQ(served, "recalled second");
}

}  // namespace
}  // namespace holdfast
