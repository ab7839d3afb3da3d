// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/fault_history.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"

namespace holdfast::supervisor {
namespace {

const absl::Time kBegin = absl::FromUnixSeconds(1'000'000);

TEST(FaultHistoryTest, ManyAtOnceAreTooMany) {
  FaultHistory history({.burst = 3, .pause = absl::Seconds(10)});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(history.Note(kBegin).ok());
  const absl::Status status = history.Note(kBegin);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_TRUE(absl::StrContains(status.message(), "the limit is 3"));
  EXPECT_EQ(history.count(), 4u);
}

TEST(FaultHistoryTest, PausesMakeUpForThem) {
  FaultHistory history({.burst = 3, .pause = absl::Seconds(10)});
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(history.Note(kBegin + i * absl::Seconds(10)).ok()) << i;
  }
}

TEST(FaultHistoryTest, WithoutALimitThereAreNeverTooMany) {
  FaultHistory history({.burst = 0});
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(history.Note(kBegin).ok());
}

TEST(FaultHistoryTest, ReportHasWhatTheExecutorSaidWithinBounds) {
  internal::Fault fault;
  fault.mutable_error()->set_code(10);
  fault.mutable_error()->set_message(std::string(1 << 20, 'x'));
  fault.set_kernel(std::string(10000, 'k'));
  fault.set_source_line("a.cu:3\xff");
  const v1::FaultReport report =
      MakeFaultReport({.epoch = 4,
                       .time = kBegin,
                       .reason = absl::UnavailableError("exited"),
                       .fault = fault,
                       .progress = absl::NotFoundError("none")});
  EXPECT_EQ(report.epoch(), 4u);
  EXPECT_EQ(report.time().seconds(), 1'000'000);
  EXPECT_LT(report.ByteSizeLong(), 10000u);
  EXPECT_TRUE(absl::StartsWith(report.source_line(), "a.cu:3"));
}

TEST(FaultHistoryTest, ReportOfASignalHasTheProcessesEnd) {
  journal::Progress progress;
  progress.completed = 5;
  progress.begun = 7;
  progress.received = 9;
  progress.kernel = "saxpy";
  progress.last_commands = {"7: launch saxpy"};
  const v1::FaultReport report =
      MakeFaultReport({.epoch = 1,
                       .time = kBegin,
                       .reason = absl::UnavailableError("killed by SIGKILL"),
                       .fault = std::nullopt,
                       .progress = progress});
  EXPECT_TRUE(absl::StrContains(report.cause().message(), "SIGKILL"));
  EXPECT_EQ(report.completed_through(), 5u);
  EXPECT_EQ(report.submitted_through(), 7u);
  EXPECT_EQ(report.received_through(), 9u);
  EXPECT_EQ(report.last_commands(0), "7: launch saxpy");
  // It was not the kernel that ended the process.
  EXPECT_EQ(report.kernel(), "");
}

}  // namespace
}  // namespace holdfast::supervisor
