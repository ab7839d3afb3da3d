// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/executor_life.h"

#include <gtest/gtest.h>

#include "core/base/error_detail.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::supervisor {
namespace {

using AfterFault = ExecutorLife::AfterFault;

internal::Fault FaultOf(const absl::Status& status) {
  internal::Fault fault;
  *fault.mutable_error() = ToError(status);
  return fault;
}

// A report that CUDA has given the process up.
internal::Fault DeviceFault() {
  absl::Status status = absl::InternalError("an illegal address");
  ErrorDetail detail;
  detail.result = 700;
  SetErrorDetail(detail, &status);
  return FaultOf(status);
}

ExecutorLife Serving() {
  ExecutorLife life;
  EXPECT_TRUE(life.BeginServing());
  return life;
}

TEST(ExecutorLifeTest, EachAnswerThatItServesCountsOnceUntilItMustResume) {
  ExecutorLife life;
  EXPECT_FALSE(life.is_serving());
  EXPECT_TRUE(life.BeginServing());
  EXPECT_FALSE(life.BeginServing());
  life.Resume();
  EXPECT_FALSE(life.is_serving());
  life.Resume();
  EXPECT_TRUE(life.BeginServing());
}

TEST(ExecutorLifeTest, ADeviceFaultOfAServingExecutorFreezesIt) {
  ExecutorLife life = Serving();
  EXPECT_EQ(life.NoteFault(DeviceFault(), /*shares_server=*/false),
            AfterFault::kFreeze);
  EXPECT_TRUE(life.is_frozen());
  EXPECT_FALSE(life.is_serving());
  // It stays as it is until it is killed.
  life.Resume();
  EXPECT_FALSE(life.BeginServing());
  EXPECT_TRUE(life.is_frozen());
}

TEST(ExecutorLifeTest, ExecutorsThatMustNotKeepTheirDeviceAreKilled) {
  ExecutorLife preparing;
  EXPECT_EQ(preparing.NoteFault(DeviceFault(), false), AfterFault::kKill);
  ExecutorLife shares = Serving();
  EXPECT_EQ(shares.NoteFault(DeviceFault(), /*shares_server=*/true),
            AfterFault::kKill);
  ExecutorLife ended = Serving();
  ended.ExpectExit();
  EXPECT_EQ(ended.NoteFault(DeviceFault(), false), AfterFault::kKill);
  ExecutorLife endless = Serving();
  EXPECT_EQ(
      endless.NoteFault(FaultOf(absl::DeadlineExceededError("kernel")), false),
      AfterFault::kKill);
  for (const ExecutorLife& life : {preparing, shares, ended, endless}) {
    EXPECT_FALSE(life.is_frozen());
    EXPECT_TRUE(life.fault().has_value());
  }
}

TEST(ExecutorLifeTest, TheFirstReportDecidesAndStays) {
  ExecutorLife life = Serving();
  const internal::Fault first = FaultOf(absl::InternalError("first"));
  EXPECT_EQ(life.NoteFault(first, false), AfterFault::kKill);
  EXPECT_EQ(life.NoteFault(DeviceFault(), false), AfterFault::kKill);
  EXPECT_FALSE(life.NoteHanging(DeviceFault()));
  EXPECT_EQ(life.fault()->error().message(), "first");
}

TEST(ExecutorLifeTest, NothingIsNotedOfAnExecutorThatTheSessionHasLost) {
  ExecutorLife life = Serving();
  EXPECT_TRUE(life.End(absl::UnavailableError("exited")));
  EXPECT_FALSE(life.End(absl::UnavailableError("again")));
  EXPECT_EQ(life.reason(), absl::UnavailableError("exited"));
  EXPECT_EQ(life.NoteFault(DeviceFault(), false), AfterFault::kNothing);
  EXPECT_FALSE(life.NoteHanging(DeviceFault()));
  EXPECT_FALSE(life.fault().has_value());
}

TEST(ExecutorLifeTest, OnlyASessionWhoseExecutorEndsUnexpectedlyHasLostIt) {
  ExecutorLife warm;
  EXPECT_FALSE(warm.was_lost());  // no session had it
  EXPECT_TRUE(warm.exit_is_unexpected());
  ExecutorLife life = Serving();
  EXPECT_TRUE(life.was_lost());
  life.ExpectExit();
  EXPECT_FALSE(life.was_lost());
  EXPECT_FALSE(life.exit_is_unexpected());
}

TEST(ExecutorLifeTest, AFrozenExecutorIsReportedEvenIfItsExitIsExpectedByThen) {
  ExecutorLife life = Serving();
  life.NoteFault(DeviceFault(), /*shares_server=*/false);
  EXPECT_TRUE(life.was_lost());
  life.ExpectExit();
  EXPECT_TRUE(life.exit_is_unexpected());
}

}  // namespace
}  // namespace holdfast::supervisor
