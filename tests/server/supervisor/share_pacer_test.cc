// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/share_pacer.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/time/clock.h"

namespace holdfast::supervisor {
namespace {

using Turn = DeviceTurns::Turn;

// An executor of a tenant: its side of the page, and the supervisor's.
class Executor {
 public:
  Executor(SharePacer& pacer, ExecutionTotals& totals, const std::string& name,
           uint32_t weight, const std::string& group)
      : page_(totals.Open(memory_)),
        counters_(MapCounterPage(memory_.get()).value()),
        member_(pacer.Join(
            *page_,
            std::make_shared<Tenant>(Tenant::Options{
                .name = name, .weight = weight, .concurrency = {group}}),
            {0, 1})) {}

  void Begin() { counters_->times.Begin(0, DeviceTimes::Now()); }
  void End() { counters_->times.End(0, DeviceTimes::Now()); }
  void Wait(bool waiting) { counters_->turns.SetWaiting(0, waiting); }
  Turn turn(size_t device = 0) const { return counters_->turns.turn(device); }
  bool paced() const { return counters_->turns.paced(); }

 private:
  const UniqueFd memory_ = CreateCounterPage().value();
  std::unique_ptr<ExecutionTotals::Page> page_;
  std::shared_ptr<CounterPage> counters_;
  std::unique_ptr<SharePacer::Member> member_;
};

class SharePacerTest : public testing::Test {
 protected:
  std::unique_ptr<Executor> Start(const std::string& tenant, uint32_t weight,
                                  const std::string& group = "") {
    return std::make_unique<Executor>(pacer_, totals_, tenant, weight, group);
  }
  static bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 30000; ++i) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(1));
    }
    return false;
  }

  ExecutionTotals totals_;
  SharePacer pacer_;
};

TEST_F(SharePacerTest, TurnsGoRoundOnTheDeviceThatBothTenantsWant) {
  const auto a = Start("a", 1);
  const auto b = Start("b", 3);
  a->Begin();
  b->Begin();
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(Eventually(
        [&] { return a->turn() == Turn::kOwn && b->turn() == Turn::kWait; }));
    EXPECT_TRUE(Eventually(
        [&] { return b->turn() == Turn::kOwn && a->turn() == Turn::kWait; }));
  }
  EXPECT_EQ(a->turn(1), Turn::kFree);
  EXPECT_EQ(b->turn(1), Turn::kFree);
}

TEST_F(SharePacerTest, OneThatWaitsForItsTurnTakesPart) {
  const auto a = Start("a", 1);
  const auto b = Start("b", 3);
  a->Begin();
  b->Wait(true);
  EXPECT_TRUE(Eventually([&] { return b->turn() == Turn::kOwn; }));
  b->Wait(false);
  EXPECT_TRUE(Eventually([&] { return !a->paced() && !b->paced(); }));
}

TEST_F(SharePacerTest, OneThatAloneHasWorkIsNeverHeldUp) {
  const auto a = Start("a", 1);
  const auto b = Start("b", 1000);
  a->Begin();
  for (int i = 0; i < 100; ++i) {
    absl::SleepFor(absl::Milliseconds(1));
    EXPECT_FALSE(a->paced());
  }
}

TEST_F(SharePacerTest, SessionsOfOneTenantDoNotTakeTurns) {
  const auto a = Start("a", 1);
  const auto b = Start("a", 1);
  a->Begin();
  b->Begin();
  for (int i = 0; i < 50; ++i) {
    absl::SleepFor(absl::Milliseconds(1));
    EXPECT_FALSE(a->paced());
    EXPECT_FALSE(b->paced());
  }
}

TEST_F(SharePacerTest, TenantsOfAGroupHaveTheirTurnsTogether) {
  const auto a = Start("a", 1, "inference");
  const auto b = Start("b", 2, "inference");
  a->Begin();
  b->Begin();
  for (int i = 0; i < 50; ++i) {
    absl::SleepFor(absl::Milliseconds(1));
    EXPECT_FALSE(a->paced());
    EXPECT_FALSE(b->paced());
  }
  const auto c = Start("c", 1);
  c->Begin();
  EXPECT_TRUE(Eventually([&] {
    return a->turn() == Turn::kOwn && b->turn() == Turn::kOwn &&
           c->turn() == Turn::kWait;
  }));
  EXPECT_TRUE(Eventually([&] {
    return a->turn() == Turn::kWait && b->turn() == Turn::kWait &&
           c->turn() == Turn::kOwn;
  }));
}

// It may die in its turn, or while it holds others up.
TEST_F(SharePacerTest, AnExecutorThatIsGoneHoldsUpNobody) {
  const auto a = Start("a", 1);
  auto b = Start("b", 3);
  a->Begin();
  b->Begin();
  ASSERT_TRUE(Eventually([&] { return a->turn() == Turn::kWait; }));
  b = nullptr;
  EXPECT_FALSE(a->paced());
}

}  // namespace
}  // namespace holdfast::supervisor
