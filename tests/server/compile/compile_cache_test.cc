// SPDX-License-Identifier: Apache-2.0
#include "server/compile/compile_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "core/base/quota_exceeded.h"

namespace holdfast {
namespace {

constexpr size_t kObjectBytes = 1000;

CompileCache::Program MakeProgram(const std::string& log) {
  const std::string bytes(kObjectBytes, 'x');
  const auto writer = ObjectWriter::Create(bytes.size()).value();
  EXPECT_TRUE(writer->Append(bytes).ok());
  auto program = std::make_shared<CompiledProgram>();
  program->object = writer->Finish(v1::OBJECT_FORMAT_PTX, {}).value();
  program->response.set_log(log);
  return program;
}

CompileCache::Compile Making(const std::string& log, bool keep = true) {
  return [log,
          keep](const CompileCaller&) -> absl::StatusOr<CompileCache::Outcome> {
    return CompileCache::Outcome{MakeProgram(log), keep};
  };
}

// True for a hit; makes the entry otherwise.
bool Hits(CompileCache& cache, const std::string& key) {
  const auto answer = cache.Get(key, CompileCaller(), Making(key));
  EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->program->response.log(), key);
  return answer->tier != CompileCache::Tier::kNone;
}

TEST(CompileCacheTest, TheSecondRequestIsAHit) {
  CompileCache cache(1 << 20);
  EXPECT_FALSE(Hits(cache, "a"));
  EXPECT_TRUE(Hits(cache, "a"));
  EXPECT_FALSE(Hits(cache, "b"));
  const auto statistics = cache.statistics();
  EXPECT_EQ(statistics.entries, 2u);
  EXPECT_EQ(statistics.hits, 1u);
  EXPECT_EQ(statistics.misses, 2u);
  EXPECT_EQ(statistics.evictions, 0u);
  EXPECT_GE(statistics.bytes, 2 * kObjectBytes);
}

TEST(CompileCacheTest, AQuotaThatRefusesTheFirstRefusesNobodyElse) {
  CompileCache cache(1 << 20);
  absl::Notification begun;
  std::thread first([&] {
    const auto answer = cache.Get(
        "a", CompileCaller(),
        [&](const CompileCaller&) -> absl::StatusOr<CompileCache::Outcome> {
          begun.Notify();
          absl::SleepFor(absl::Milliseconds(100));
          absl::Status refusal = absl::ResourceExhaustedError("no time left");
          SetQuotaExceeded({.quota = "compile_time"}, &refusal);
          return refusal;
        });
    EXPECT_EQ(answer.status().message(), "no time left");
  });
  begun.WaitForNotification();
  EXPECT_FALSE(Hits(cache, "a"));
  first.join();
  EXPECT_TRUE(Hits(cache, "a"));
}

TEST(CompileCacheTest, FindLooksInMemoryAndNeverWaits) {
  CompileCache cache(2 * kObjectBytes + 100);
  EXPECT_EQ(cache.Find("a"), nullptr);
  // Not even for what is being made.
  const auto answer = cache.Get(
      "a", CompileCaller(),
      [&cache](const CompileCaller&) -> absl::StatusOr<CompileCache::Outcome> {
        EXPECT_EQ(cache.Find("a"), nullptr);
        return CompileCache::Outcome{MakeProgram("a")};
      });
  EXPECT_EQ(cache.Find("a"), answer->program);
  EXPECT_EQ(cache.statistics().hits, 1u);
  EXPECT_EQ(cache.statistics().misses, 1u);
  // A hit counts as a use.
  Hits(cache, "b");
  EXPECT_NE(cache.Find("a"), nullptr);
  Hits(cache, "c");
  EXPECT_NE(cache.Find("a"), nullptr);
  EXPECT_EQ(cache.Find("b"), nullptr);
}

// Find leaves a program to Get while its time of use on disk is too old.
TEST(CompileCacheTest, TheTimeOfUseOnDiskIsRenewedAgainAndAgain) {
  CompileCache cache(1 << 20, nullptr, 10, absl::Milliseconds(1));
  EXPECT_FALSE(Hits(cache, "a"));
  for (int i = 0; i < 3; ++i) {
    absl::SleepFor(absl::Milliseconds(2));
    EXPECT_EQ(cache.Find("a"), nullptr) << i;
    EXPECT_TRUE(Hits(cache, "a"));
  }
}

TEST(CompileCacheTest, TheLeastRecentlyUsedMakesRoom) {
  CompileCache cache(2 * kObjectBytes + 100);
  Hits(cache, "a");
  Hits(cache, "b");
  EXPECT_TRUE(Hits(cache, "a"));
  EXPECT_FALSE(Hits(cache, "c"));
  EXPECT_TRUE(Hits(cache, "a"));
  EXPECT_FALSE(Hits(cache, "b"));
  EXPECT_EQ(cache.statistics().evictions, 2u);
  EXPECT_LE(cache.statistics().bytes, cache.max_bytes());
}

TEST(CompileCacheTest, EntriesAreBoundedHoweverSmall) {
  CompileCache cache(1 << 20, nullptr, /*max_entries=*/2);
  for (const char* key : {"a", "b", "c"}) Hits(cache, key);
  EXPECT_EQ(cache.statistics().entries, 2u);
  EXPECT_TRUE(Hits(cache, "c"));
  EXPECT_FALSE(Hits(cache, "a"));
}

TEST(CompileCacheTest, WhatIsLargerThanTheCacheIsAnsweredAndEvictsNothing) {
  CompileCache cache(kObjectBytes + 100);
  Hits(cache, "a");
  const std::string large(200, 'l');
  EXPECT_FALSE(Hits(cache, large));
  EXPECT_FALSE(Hits(cache, large));
  EXPECT_TRUE(Hits(cache, "a"));
  CompileCache off(0);
  EXPECT_FALSE(Hits(off, "a"));
  EXPECT_FALSE(Hits(off, "a"));
}

TEST(CompileCacheTest, ClearEmptiesAndLeavesWhatIsHeld) {
  CompileCache cache(1 << 20);
  const auto held = cache.Get("a", CompileCaller(), Making("a"));
  Hits(cache, "b");
  EXPECT_EQ(cache.Clear(), 2u);
  EXPECT_EQ(cache.statistics().entries, 0u);
  EXPECT_EQ(cache.statistics().bytes, 0u);
  EXPECT_EQ(held->program->response.log(), "a");
  EXPECT_FALSE(Hits(cache, "a"));
  EXPECT_EQ(cache.Clear(), 1u);
}

TEST(CompileCacheTest, ErrorsAndWhatIsNotToBeKeptAreNotFoundLater) {
  CompileCache cache(1 << 20);
  const auto failed = cache.Get("a", CompileCaller(), [](const CompileCaller&) {
    return absl::StatusOr<CompileCache::Outcome>(
        absl::InvalidArgumentError("a.cu(1): error"));
  });
  EXPECT_EQ(failed.status().message(), "a.cu(1): error");
  EXPECT_TRUE(
      cache.Get("a", CompileCaller(), Making("a", /*keep=*/false)).ok());
  EXPECT_EQ(cache.statistics().entries, 0u);
  EXPECT_FALSE(Hits(cache, "a"));
}

// Eight requests for one key, of which the first to come compiles until all
// others have come.
class CompileCacheFlightTest : public testing::Test {
 protected:
  static constexpr int kRequests = 8;

  std::vector<absl::StatusOr<CompileCache::Answer>> GetAtOnce(
      const CompileCache::Compile& compile) {
    std::vector<absl::StatusOr<CompileCache::Answer>> answers(kRequests);
    std::vector<std::thread> threads;
    absl::Notification started;
    threads.emplace_back([&] {
      answers[0] =
          cache_.Get("key", CompileCaller(), [&](const CompileCaller& callers) {
            started.Notify();
            // Until another key's request has gone through: nobody holds a
            // lock.
            Hits(cache_, "other");
            finish_.WaitForNotification();
            ++compilations_;
            return compile(callers);
          });
    });
    started.WaitForNotification();
    for (int i = 1; i < kRequests; ++i) {
      threads.emplace_back([&, i] {
        answers[i] = cache_.Get("key", CompileCaller(),
                                [&](const CompileCaller& callers) {
                                  ++compilations_;
                                  return compile(callers);
                                });
      });
    }
    JoinAFlightInVain();
    finish_.Notify();
    for (std::thread& thread : threads) thread.join();
    return answers;
  }

  // Goes while the first compiles.
  void JoinAFlightInVain() {
    CompileCaller caller;
    caller.gone = [looks = 0]() mutable { return ++looks > 2; };
    const auto answer = cache_.Get("key", caller, Making("never made"));
    EXPECT_EQ(answer.status().code(), absl::StatusCode::kCancelled);
  }

  CompileCache cache_{1 << 20};
  absl::Notification finish_;
  std::atomic<int> compilations_ = 0;
};

TEST_F(CompileCacheFlightTest, IdenticalRequestsShareOneCompilation) {
  const auto answers = GetAtOnce(Making("made once"));
  EXPECT_EQ(compilations_, 1);
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_TRUE(answers[i].ok()) << answers[i].status();
    EXPECT_EQ(answers[i]->program, answers[0]->program);
    EXPECT_EQ(answers[i]->tier,
              i == 0 ? CompileCache::Tier::kNone : CompileCache::Tier::kMemory);
  }
}

TEST_F(CompileCacheFlightTest, AnErrorReachesAllAndIsForgotten) {
  const auto answers = GetAtOnce([](const CompileCaller&) {
    return absl::StatusOr<CompileCache::Outcome>(absl::AbortedError("crashed"));
  });
  for (const auto& answer : answers) {
    EXPECT_EQ(answer.status(), absl::AbortedError("crashed"));
  }
  EXPECT_FALSE(Hits(cache_, "key"));
}

TEST_F(CompileCacheFlightTest, TheLastToGoEndsTheCompilation) {
  std::atomic<bool> first_gone = false, second_gone = false;
  absl::Notification begun;
  std::atomic<int> looks = 0;  // at callers who are not gone
  const auto compile = [&](const CompileCaller& callers)
      -> absl::StatusOr<CompileCache::Outcome> {
    begun.Notify();
    while (!callers.gone()) {
      callers.report({});
      ++looks;
    }
    return absl::CancelledError("all gone");
  };
  const auto get = [&](const std::atomic<bool>& gone) {
    CompileCaller caller;
    caller.gone = [&gone] { return gone.load(); };
    return cache_.Get("key", caller, compile).status().code();
  };
  std::atomic<bool> second_waits = false;
  std::thread first(
      [&] { EXPECT_EQ(get(first_gone), absl::StatusCode::kCancelled); });
  begun.WaitForNotification();
  std::thread second([&] {
    CompileCaller caller;
    caller.gone = [&] {
      second_waits = true;  // It has joined.
      return second_gone.load();
    };
    EXPECT_EQ(cache_.Get("key", caller, compile).status().code(),
              absl::StatusCode::kCancelled);
  });
  while (!second_waits) std::this_thread::yield();
  first_gone = true;
  const int before = looks;
  while (looks < before + 10) std::this_thread::yield();
  second_gone = true;
  second.join();
  first.join();
  EXPECT_FALSE(Hits(cache_, "key"));
}

// A client whose line is long asks for what others will want, too.
TEST_F(CompileCacheFlightTest, NobodyWaitsInAnotherClientsLine) {
  CompileCaller busy, other;
  busy.name = "uid 1000";
  other.name = "uid 1001";
  absl::Notification asked, waits, let_go;
  std::thread first([&] {
    const auto answer = cache_.Get(
        "key", busy,
        [&](const CompileCaller& callers)
            -> absl::StatusOr<CompileCache::Outcome> {
          asked.Notify();
          waits.WaitForNotification();
          callers.report({.queue_position = 9, .queue_length = 9});
          let_go.WaitForNotification();
          return CompileCache::Outcome{MakeProgram("of the long line")};
        });
    EXPECT_TRUE(answer.ok()) << answer.status();
  });
  asked.WaitForNotification();
  // It joins what seems to run, and leaves it when it turns out to wait.
  other.report = [&](const CompileStage& stage) {
    EXPECT_EQ(stage.queue_position, 0u);
    if (!waits.HasBeenNotified()) waits.Notify();
  };
  const auto made = cache_.Get("key", other, Making("of its own turn"));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->program->response.log(), "of its own turn");
  EXPECT_EQ(made->tier, CompileCache::Tier::kNone);
  let_go.Notify();
  first.join();
  EXPECT_EQ(cache_.Find("key"), made->program);
  EXPECT_EQ(cache_.statistics().entries, 1u);
}

// Returns a compilation that waits for a turn until it is given up.
CompileCache::Compile Waiting(absl::Notification* waits) {
  return [waits](const CompileCaller& callers)
             -> absl::StatusOr<CompileCache::Outcome> {
    callers.report({.queue_position = 1, .queue_length = 1});
    EXPECT_FALSE(callers.gone());
    waits->Notify();
    while (!callers.gone()) std::this_thread::yield();
    return absl::CancelledError("gone");
  };
}

TEST_F(CompileCacheFlightTest, WhoWaitsForATurnJoinsACompilationThatRuns) {
  CompileCaller busy, other;
  busy.name = "uid 1000";
  other.name = "uid 1001";
  absl::Notification waits, joined;
  const auto get = [&](const CompileCaller& caller) {
    const auto answer = cache_.Get("key", caller, Waiting(&waits));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->program->response.log(), "once");
    EXPECT_EQ(answer->tier, CompileCache::Tier::kMemory);
  };
  std::thread first([&] {
    busy.report = [&](const CompileStage& stage) {
      if (stage.queue_position == 0 && !joined.HasBeenNotified()) {
        joined.Notify();
      }
    };
    get(busy);
  });
  waits.WaitForNotification();
  const auto made =
      cache_.Get("key", other,
                 [&](const CompileCaller& callers)
                     -> absl::StatusOr<CompileCache::Outcome> {
                   callers.report({});
                   joined.WaitForNotification();
                   return CompileCache::Outcome{MakeProgram("once")};
                 });
  first.join();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->tier, CompileCache::Tier::kNone);
  EXPECT_EQ(cache_.statistics().misses, 1u);
}

TEST_F(CompileCacheFlightTest, WhoWaitsForATurnTakesAProgramThatIsThere) {
  CompileCaller busy, other;
  busy.name = "uid 1000";
  other.name = "uid 1001";
  absl::Notification waits;
  std::thread first([&] {
    const auto answer = cache_.Get("key", busy, Waiting(&waits));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->program->response.log(), "made meanwhile");
  });
  waits.WaitForNotification();
  EXPECT_TRUE(cache_.Get("key", other, Making("made meanwhile")).ok());
  first.join();
  EXPECT_EQ(cache_.statistics().misses, 1u);
}

TEST_F(CompileCacheFlightTest, WhoComesAfterAnotherHasGoneJoinsTheOneThatRuns) {
  CompileCaller busy, gone, late;
  busy.name = "uid 1000";
  gone.name = "uid 1001";
  gone.gone = [] { return true; };
  late.name = "uid 1002";
  absl::Notification waits, turn, runs, joined;
  std::thread first([&] {
    const auto made =
        cache_.Get("key", busy,
                   [&](const CompileCaller& callers)
                       -> absl::StatusOr<CompileCache::Outcome> {
                     callers.report({.queue_position = 1, .queue_length = 1});
                     waits.Notify();
                     turn.WaitForNotification();
                     callers.report({});
                     runs.Notify();
                     joined.WaitForNotification();
                     return CompileCache::Outcome{MakeProgram("once")};
                   });
    EXPECT_TRUE(made.ok()) << made.status();
  });
  waits.WaitForNotification();
  const auto given_up =
      cache_.Get("key", gone,
                 [](const CompileCaller& callers)
                     -> absl::StatusOr<CompileCache::Outcome> {
                   callers.report({.queue_position = 1, .queue_length = 1});
                   EXPECT_TRUE(callers.gone());
                   return absl::CancelledError("gone");
                 });
  EXPECT_EQ(given_up.status().code(), absl::StatusCode::kCancelled);
  turn.Notify();
  runs.WaitForNotification();
  late.report = [&](const CompileStage&) {
    if (!joined.HasBeenNotified()) joined.Notify();
  };
  const auto answer = cache_.Get("key", late, Making("again"));
  if (!joined.HasBeenNotified()) joined.Notify();
  first.join();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->program->response.log(), "once");
}

TEST_F(CompileCacheFlightTest, AClientsOwnRequestsWaitInItsLineTogether) {
  CompileCaller caller;
  caller.name = "uid 1000";
  absl::Notification asked, joined;
  std::thread first([&] {
    const auto answer =
        cache_.Get("key", caller,
                   [&](const CompileCaller& callers)
                       -> absl::StatusOr<CompileCache::Outcome> {
                     callers.report({.queue_position = 9, .queue_length = 9});
                     asked.Notify();
                     joined.WaitForNotification();
                     return CompileCache::Outcome{MakeProgram("once")};
                   });
    EXPECT_TRUE(answer.ok()) << answer.status();
  });
  asked.WaitForNotification();
  CompileCaller second = caller;
  second.report = [&](const CompileStage&) {
    if (!joined.HasBeenNotified()) joined.Notify();
  };
  const auto answer = cache_.Get("key", second, Making("twice"));
  first.join();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->program->response.log(), "once");
}

TEST_F(CompileCacheFlightTest, WhoComesAfterItWasGivenUpCompilesAnew) {
  CompileCaller gone;
  gone.gone = [] { return true; };
  const auto abandoned =
      cache_.Get("key", gone,
                 [&](const CompileCaller& callers)
                     -> absl::StatusOr<CompileCache::Outcome> {
                   EXPECT_TRUE(callers.gone());
                   // While the first still cleans up.
                   EXPECT_FALSE(Hits(cache_, "key"));
                   return absl::CancelledError("given up");
                 });
  EXPECT_EQ(abandoned.status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(Hits(cache_, "key"));
}

TEST(CompileCacheStressTest, ThreadsAndEvictionsKeepTheCountsRight) {
  CompileCache cache(4 * (kObjectBytes + 100));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 500; ++i) {
        Hits(cache, std::string(1, static_cast<char>('a' + (i * (t + 1)) % 7)));
        if (i % 100 == 99) cache.Clear();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto statistics = cache.statistics();
  EXPECT_EQ(statistics.hits + statistics.misses, 2000u);
  EXPECT_LE(statistics.bytes, cache.max_bytes());
  EXPECT_EQ(cache.Clear(), statistics.entries);
  EXPECT_EQ(cache.statistics().bytes, 0u);
}

}  // namespace
}  // namespace holdfast
