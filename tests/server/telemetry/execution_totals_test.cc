// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/execution_totals.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace holdfast {
namespace {

constexpr auto kLaunch = v1::Command::kLaunch;

// An executor: a page of the totals, and its view of it.
struct Executor {
  explicit Executor(ExecutionTotals& totals)
      : page(totals.Open(memory)), counters(*MapCounterPage(memory.get())) {}

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
