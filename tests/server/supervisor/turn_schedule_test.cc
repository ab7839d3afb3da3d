// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/turn_schedule.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace holdfast::supervisor {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(1);

// A device that only the tenant whose turn it is uses, all the time; without
// turns, everybody does.
class TurnScheduleTest : public testing::Test {
 protected:
  struct Client {
    uint32_t weight = 1;
    uint32_t sessions = 1;
  };

  const std::string& Tick() {
    TurnSchedule::Demands demands;
    for (const auto& [name, client] : clients_) {
      const bool runs = holder_.empty() || holder_ == name;
      const absl::Duration used = runs ? kTick : absl::ZeroDuration();
      demands[name] = {client.weight, client.sessions, used};
      used_[name] += used;
    }
    now_ += kTick;
    return holder_ = schedule_.Decide(now_, demands);
  }
  void Run(absl::Duration duration) {
    used_.clear();
    for (; duration > absl::ZeroDuration(); duration -= kTick) Tick();
  }
  // Shares of all that was used in the last Run.
  double Share(const std::string& name) {
    absl::Duration all;
    for (const auto& [each, used] : used_) all += used;
    return absl::FDivDuration(used_[name], all);
  }

  TurnSchedule schedule_;
  std::map<std::string, Client> clients_;
  std::map<std::string, absl::Duration> used_;
  std::string holder_;
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(TurnScheduleTest, SharesFollowWeights) {
  clients_ = {{"a", {.weight = 1}}, {"b", {.weight = 3}}, {"c", {.weight = 4}}};
  Run(absl::Seconds(10));
  EXPECT_NEAR(Share("a"), 1 / 8.0, 0.01);
  EXPECT_NEAR(Share("b"), 3 / 8.0, 0.01);
  EXPECT_NEAR(Share("c"), 4 / 8.0, 0.01);
}

TEST_F(TurnScheduleTest, ATenantsShareDoesNotGrowWithItsSessions) {
  clients_ = {{"a", {.sessions = 8}}, {"b", {.sessions = 1}}};
  Run(absl::Seconds(10));
  EXPECT_NEAR(Share("a"), 0.5, 0.01);
}

TEST_F(TurnScheduleTest, OneAloneHasNoTurnsAndGetsAll) {
  for (int i = 0; i < 1000; ++i) {
    TurnSchedule::Demands demands;
    demands["a"] = {1, 1, kTick};
    demands["b"] = {3, 0, absl::ZeroDuration()};
    now_ += kTick;
    EXPECT_EQ(schedule_.Decide(now_, demands), "");
    EXPECT_FALSE(schedule_.contended());
  }
}

TEST_F(TurnScheduleTest, EqualTenantsAreLeftToTheDriver) {
  clients_ = {{"a", {.weight = 2}}, {"b", {.weight = 2}}};
  EXPECT_EQ(Tick(), "");
  EXPECT_TRUE(schedule_.contended());
}

TEST_F(TurnScheduleTest, TurnsLastForASlice) {
  clients_ = {{"a", {.weight = 1}}, {"b", {.weight = 3}}};
  int changes = 0;
  std::string before = Tick();
  for (int i = 0; i < 1000; ++i) {
    if (Tick() != before) ++changes;
    before = holder_;
  }
  EXPECT_LE(changes, 1000 * kTick / TurnSchedule::kSlice);
  EXPECT_GT(changes, 50);
}

// As one that waits for each result does.
TEST_F(TurnScheduleTest, ATenantThatPausesOftenGetsItsShareAllTheSame) {
  clients_ = {{"a", {.weight = 1}}, {"b", {.weight = 3}}};
  absl::Duration work;
  used_.clear();
  for (int i = 0; i < 10000; ++i) {
    // 8 ms of work, and 1 ms without.
    const bool pauses = work >= absl::Milliseconds(8);
    clients_["b"].sessions = pauses ? 0 : 1;
    if (pauses && holder_ == "b") holder_ = "nobody";
    const absl::Duration before = used_["b"];
    Tick();
    work = pauses ? absl::ZeroDuration() : work + (used_["b"] - before);
  }
  EXPECT_GT(Share("b"), 0.65);
}

TEST_F(TurnScheduleTest, NothingIsSavedUpWhileIdle) {
  clients_ = {{"a", {.weight = 1}}};
  Run(absl::Minutes(1));
  clients_["b"] = {.weight = 3};
  Run(absl::Milliseconds(400));
  EXPECT_NEAR(Share("a"), 0.25, 0.05);
}

// Its work cannot be taken back, so it runs on in the turns of others.
TEST_F(TurnScheduleTest, ATenantPaysForWorkThatOutlastsItsTurnUpToABound) {
  clients_ = {{"a", {.weight = 1}}, {"b", {.weight = 3}}};
  Run(absl::Milliseconds(100));
  TurnSchedule::Demands demands;
  demands["a"] = {1, 1, absl::Minutes(1)};
  demands["b"] = {3, 1, kTick};
  now_ += kTick;
  holder_ = schedule_.Decide(now_, demands);
  EXPECT_EQ(holder_, "b");
  Run(absl::Seconds(2.9));
  EXPECT_LT(Share("a"), 0.02);
  Run(absl::Seconds(1));
  EXPECT_GT(Share("a"), 0.15);
}

// Its stream waits for the other's, say, and it wants to do more beside that.
TEST_F(TurnScheduleTest, ATenantThatIsChargedAllTheTimeIsNotStarved) {
  int turns = 0;
  for (int i = 0; i < 10000; ++i) {
    TurnSchedule::Demands demands;
    demands["a"] = {1, 1, kTick};
    demands["b"] = {3, 1, kTick};
    now_ += kTick;
    if (schedule_.Decide(now_, demands) == "a") ++turns;
  }
  EXPECT_GT(turns, 50);
}

TEST_F(TurnScheduleTest, ATenantThatHasNothingToDoGivesItsTurnAway) {
  clients_ = {{"a", {.weight = 1}}, {"b", {.weight = 3}}};
  Run(absl::Milliseconds(100));
  while (holder_ != "b") Tick();
  clients_["b"].sessions = 0;
  holder_ = "nobody";  // uses the device
  EXPECT_EQ(Tick(), "a");
}

TEST_F(TurnScheduleTest, TheTurnOfATenantThatIsGoneIsOver) {
  clients_ = {{"a", {.weight = 1}}, {"b", {.weight = 3}}};
  Run(absl::Milliseconds(100));
  clients_.erase("b");
  EXPECT_EQ(Tick(), "");
  EXPECT_FALSE(schedule_.contended());
}

}  // namespace
}  // namespace holdfast::supervisor
