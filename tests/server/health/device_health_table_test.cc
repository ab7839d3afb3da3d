// SPDX-License-Identifier: Apache-2.0
#include "server/health/device_health_table.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

using Health = v1::DeviceHealth;

class DeviceHealthTableTest : public testing::Test {
 protected:
  void SetUp() override { table_.Add(0); }

  // One probe from beginning to end.
  void Probe(const absl::Status& outcome) {
    ASSERT_TRUE(table_.AwaitDue(0));
    table_.Record(0, outcome, absl::Milliseconds(7));
  }
  // After the time until the next one.
  absl::Duration PauseThenProbe(const absl::Status& outcome) {
    const absl::Duration pause = table_.due(0) - now_;
    now_ = table_.due(0);
    Probe(outcome);
    return pause;
  }
  Health::State state() const { return table_.Get(0).state(); }

  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  std::vector<std::pair<uint32_t, bool>> changes_;
  const absl::Status failure_ = absl::UnavailableError("no answer");
  DeviceHealthTable table_{{.interval = absl::Minutes(5),
                            .first_pause = absl::Seconds(1),
                            .longest_pause = absl::Seconds(3),
                            .fault_delay = absl::Seconds(2),
                            .fault_pause = absl::Seconds(5),
                            .on_change =
                                [this](uint32_t device, bool ready) {
                                  changes_.emplace_back(device, ready);
                                },
                            .now = [this] { return now_; }}};
};

TEST_F(DeviceHealthTableTest, NewDeviceIsProbedAtOnceAndReadyOnlyThen) {
  EXPECT_EQ(table_.Get(1).state(), Health::STATE_UNSPECIFIED);
  EXPECT_EQ(state(), Health::STATE_PROBING);
  EXPECT_EQ(table_.due(0), now_);
  Probe(absl::OkStatus());
  EXPECT_EQ(state(), Health::STATE_READY);
  EXPECT_EQ(table_.Get(0).probes(), 1u);
  EXPECT_EQ(table_.Get(0).last_probe_took().nanos(), 7'000'000);
  EXPECT_EQ(table_.due(0), now_ + absl::Minutes(5));
}

TEST_F(DeviceHealthTableTest, FailureIsNamedAndProbedAgainLessAndLessOften) {
  Probe(failure_);
  EXPECT_EQ(state(), Health::STATE_QUARANTINED);
  EXPECT_EQ(table_.Get(0).reason(), "no answer");
  EXPECT_EQ(PauseThenProbe(failure_), absl::Seconds(1));
  EXPECT_EQ(PauseThenProbe(failure_), absl::Seconds(2));
  EXPECT_EQ(PauseThenProbe(failure_), absl::Seconds(3));
  EXPECT_EQ(PauseThenProbe(absl::OkStatus()), absl::Seconds(3));
  EXPECT_EQ(state(), Health::STATE_READY);
  EXPECT_EQ(table_.Get(0).reason(), "");
  EXPECT_EQ(table_.Get(0).failed_probes(), 4u);
  // From the beginning.
  now_ = table_.due(0);
  Probe(failure_);
  EXPECT_EQ(PauseThenProbe(failure_), absl::Seconds(1));
  EXPECT_EQ(changes_.size(), 7u);
  EXPECT_EQ(changes_[4], std::make_pair(0u, true));
  EXPECT_EQ(changes_[5], std::make_pair(0u, false));
}

TEST_F(DeviceHealthTableTest, FaultBringsAProbeButAStormOfThemFewer) {
  Probe(absl::OkStatus());
  now_ += absl::Minutes(1);
  table_.NoteFault(0);
  EXPECT_EQ(table_.due(0), now_ + absl::Seconds(2));
  // Another fault does not put it off.
  now_ += absl::Seconds(1);
  table_.NoteFault(0);
  EXPECT_EQ(table_.due(0), now_ + absl::Seconds(1));
  now_ = table_.due(0);
  ASSERT_TRUE(table_.AwaitDue(0));
  EXPECT_EQ(state(), Health::STATE_PROBING);
  table_.NoteFault(0);
  table_.Record(0, absl::OkStatus(), {});
  EXPECT_EQ(state(), Health::STATE_READY);
  EXPECT_EQ(table_.due(0), now_ + absl::Seconds(5));
  now_ += absl::Seconds(1);
  table_.NoteFault(0);
  EXPECT_EQ(table_.due(0), now_ + absl::Seconds(4));
  now_ += absl::Seconds(3);
  table_.NoteFault(0);
  EXPECT_EQ(table_.due(0), now_ + absl::Seconds(1));
}

TEST_F(DeviceHealthTableTest, FaultDoesNotHastenTheProbeOfAQuarantinedDevice) {
  Probe(failure_);
  table_.NoteFault(0);
  EXPECT_EQ(table_.due(0), now_ + absl::Seconds(1));
}

TEST_F(DeviceHealthTableTest, PeriodicProbeLeavesTheDeviceReady) {
  Probe(absl::OkStatus());
  now_ = table_.due(0);
  ASSERT_TRUE(table_.AwaitDue(0));
  EXPECT_EQ(state(), Health::STATE_READY);
}

TEST_F(DeviceHealthTableTest, FaultOfAnUnknownDeviceIsIgnored) {
  table_.NoteFault(7);
  EXPECT_EQ(table_.Get(7).state(), Health::STATE_UNSPECIFIED);
}

TEST_F(DeviceHealthTableTest, StopEndsAWait) {
  Probe(absl::OkStatus());
  std::thread waiter([&] { EXPECT_FALSE(table_.AwaitDue(0)); });
  table_.Stop();
  waiter.join();
}

}  // namespace
}  // namespace holdfast
