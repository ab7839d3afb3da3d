// SPDX-License-Identifier: Apache-2.0
#include "server/counters/execution_totals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace holdfast {
namespace {

constexpr auto kLaunch = v1::Command::kLaunch;

uint64_t Now() { return DeviceTimes::Now(); }

// An executor: a page of the totals, and its view of it.
struct Executor {
  explicit Executor(ExecutionTotals& totals,
                    std::shared_ptr<ExecutionTotals> other = nullptr)
      : counters(*MapCounterPage(memory.get())) {
    page = other == nullptr ? totals.Open(memory)
                            : totals.Open(memory, {std::move(other)});
  }

  const UniqueFd memory = *CreateCounterPage();
  std::unique_ptr<ExecutionTotals::Page> page;
  std::shared_ptr<CounterPage> counters;
};

TEST(ExecutionTotalsTest, SumsExecutorsAndKeepsTheCountsOfThoseThatEnded) {
  ExecutionTotals totals;
  auto ended = std::make_unique<Executor>(totals);
  const Executor running(totals);
  ended->counters->commands.Add(kLaunch, true);
  ended->counters->commands.Add(kLaunch, true);
  ended->counters->commands.Add(kLaunch, false);
  running.counters->commands.Add(kLaunch, true);
  running.counters->copies.Add(v1::COPY_PATH_ARENA, 100);
  ended = nullptr;
  const ExecutionCounts sum = totals.Sum();
  EXPECT_EQ(sum.launches(), 3u);
  EXPECT_EQ(sum.commands[kLaunch].failed, 1u);
  EXPECT_EQ(sum.copies[v1::COPY_PATH_ARENA].copies, 1u);
  EXPECT_EQ(sum.copies[v1::COPY_PATH_ARENA].bytes, 100u);
  EXPECT_EQ(running.page->Read().launches(), 1u);
}

TEST(ExecutionTotalsTest, AnExecutorCountsForItsSessionAndItsTenantToo) {
  ExecutionTotals totals;
  const auto session = std::make_shared<ExecutionTotals>();
  auto executor = std::make_unique<Executor>(totals, session);
  const Executor other(totals);
  executor->counters->commands.Add(kLaunch, true);
  executor->counters->commands.Add(v1::Command::kLaunchGraph, true);
  other.counters->commands.Add(kLaunch, true);
  EXPECT_EQ(session->Sum().all_launches(), 2u);
  executor = nullptr;
  EXPECT_EQ(session->Sum().all_launches(), 2u);
  EXPECT_EQ(totals.Sum().all_launches(), 3u);
}

TEST(ExecutionTotalsTest, TheNextDaemonGoesOnFromTheSums) {
  ExecutionTotals totals;
  const Executor executor(totals);
  executor.counters->commands.Add(kLaunch, true);
  executor.counters->commands.Add(kLaunch, false);
  executor.counters->copies.Add(v1::COPY_PATH_ARENA, 100);
  executor.counters->times.Begin(1, Now());
  executor.counters->times.End(1, Now());
  totals.NoteLost();
  totals.NoteLost();
  totals.NoteRecovered();
  internal::ExecutionRecord record = totals.Record();
  // A newer daemon may know more.
  record.add_commands()->set_field(100'000);
  record.add_copies()->set_path(static_cast<v1::CopyPath>(1000));
  for (int i = 0; i < 1000; ++i) record.add_gpu_times(1);
  ExecutionTotals next;
  const Executor successor(next);
  successor.counters->commands.Add(kLaunch, true);
  next.Add(record);
  const ExecutionCounts sum = next.Sum();
  EXPECT_EQ(sum.launches(), 2u);
  EXPECT_EQ(sum.commands[kLaunch].failed, 1u);
  EXPECT_EQ(sum.copies[v1::COPY_PATH_ARENA].bytes, 100u);
  EXPECT_EQ(sum.gpu_times[1], totals.Sum().gpu_times[1]);
  EXPECT_EQ(next.lost(), 2u);
  EXPECT_EQ(next.recovered(), 1u);
}

TEST(ExecutionTotalsTest, GpuTimeCountsIntervalsThatAreOverAndTheOneThatRuns) {
  ExecutionTotals totals;
  const Executor executor(totals);
  DeviceTimes& times = executor.counters->times;
  const uint64_t begin = Now();
  times.Begin(1, begin);
  const uint64_t running = totals.Sum().gpu_times[1];
  EXPECT_GT(running, 0u);
  const uint64_t end = Now();
  EXPECT_LE(running, end - begin);
  times.End(1, end);
  EXPECT_EQ(totals.Sum().gpu_times[1], end - begin);
  EXPECT_EQ(totals.Sum().gpu_time(), end - begin);
  v1::SessionUsage usage;
  totals.Sum().Report(&usage);
  ASSERT_EQ(usage.gpu_time_size(), 1);
  EXPECT_EQ(usage.gpu_time(0).device(), 1u);
  EXPECT_EQ(static_cast<uint64_t>(usage.gpu_time(0).time().nanos()),
            end - begin);
}

TEST(ExecutionTotalsTest, GpuTimeEndsWithTheExecutor) {
  ExecutionTotals totals;
  const Executor executor(totals);
  executor.counters->times.Begin(0, Now());
  executor.page->End();
  const uint64_t ended = totals.Sum().gpu_time();
  EXPECT_GT(ended, 0u);
  EXPECT_EQ(totals.Sum().gpu_time(), ended);
}

TEST(ExecutionTotalsTest, NoExecutorHasMoreGpuTimeThanHasPassed) {
  ExecutionTotals totals;
  const uint64_t before = Now();
  const Executor executor(totals);
  // It claims to have begun long ago, and to have had an hour.
  executor.counters->times.Begin(0, 1);
  executor.counters->times.Begin(1, 1);
  executor.counters->times.End(1, 3'600'000'000'000);
  const ExecutionCounts counts = totals.Sum();
  EXPECT_LE(counts.gpu_times[0], Now() - before);
  EXPECT_EQ(counts.gpu_times[1], 0u);
}

// The page is written by a process that runs clients' code.
TEST(ExecutionTotalsTest, SumsNeverFallAndDoNotBelieveWhatCannotBe) {
  ExecutionTotals totals;
  const Executor executor(totals);
  executor.counters->commands.Add(kLaunch, true);
  EXPECT_EQ(totals.Sum().launches(), 1u);
  std::memset(static_cast<void*>(executor.counters.get()), 0,
              sizeof(CounterPage));
  EXPECT_EQ(totals.Sum().launches(), 1u);
  std::memset(static_cast<void*>(executor.counters.get()), 0xff,
              sizeof(CounterPage));
  EXPECT_EQ(totals.Sum().launches(), 1u);
  EXPECT_EQ(totals.Sum().copies[v1::COPY_PATH_ARENA].bytes, 0u);
  EXPECT_EQ(totals.Sum().gpu_time(), 0u);
}

// Sums are everybody's: a count that no executor could have reached in the time
// would stand in them for ever.
TEST(ExecutionTotalsTest, NoExecutorCountsFasterThanAnyCan) {
  ExecutionTotals totals;
  const Executor executor(totals);
  auto* const counts =
      reinterpret_cast<uint64_t*>(&executor.counters->commands);
  std::fill_n(counts, sizeof(CommandCounts) / sizeof(uint64_t),
              uint64_t{1} << 59);
  executor.counters->copies.Add(v1::COPY_PATH_ARENA, uint64_t{1} << 59);
  EXPECT_EQ(totals.Sum().launches(), 0u);
  EXPECT_EQ(totals.Sum().copies[v1::COPY_PATH_ARENA].bytes, 0u);
  std::fill_n(counts, sizeof(CommandCounts) / sizeof(uint64_t), uint64_t{1000});
  EXPECT_EQ(totals.Sum().launches(), 1000u);
}

TEST(ExecutionTotalsTest, TakesNoMemoryThatAnExecutorCouldTakeAway) {
  ExecutionTotals totals;
  EXPECT_EQ(totals.Open(*CreateMemfd("page", sizeof(CounterPage))), nullptr);
  EXPECT_EQ(totals.Open(*CreateFixedMemfd("page", 1)), nullptr);
  EXPECT_EQ(totals.Open(UniqueFd()), nullptr);
}

TEST(CommandCountsTest, CountsWhatItDoesNotKnowAsUnknown) {
  CommandCounts counts;
  counts.Add(static_cast<v1::Command::OperationCase>(1 << 20), false);
  counts.Add(v1::Command::OPERATION_NOT_SET, false);
  EXPECT_EQ(counts.Of(0).failed, 2u);
  EXPECT_EQ(std::string(CommandName(0)), "unknown");
}

TEST(CommandCountsTest, NamesEveryCommandAsTheProtocolDoes) {
  const auto* command = v1::Command::descriptor();
  size_t named = 0;
  for (size_t kind = 1; kind < CommandCounts::kKinds; ++kind) {
    if (CommandName(kind) == nullptr) continue;
    ++named;
    const auto* field = command->FindFieldByNumber(static_cast<int>(kind));
    ASSERT_NE(field, nullptr) << kind;
    EXPECT_EQ(field->name(), CommandName(kind));
  }
  EXPECT_GT(named, 40u);
}

}  // namespace
}  // namespace holdfast
