// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/queue_state.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "absl/status/status.h"
#include "client/cpp/submission/quiet_thread.h"
#include "core/base/fault_epoch.h"

namespace holdfast {
namespace {

absl::Status Fault(uint64_t epoch) {
  absl::Status fault = absl::AbortedError("a kernel faulted");
  SetFaultEpoch(epoch, &fault);
  return fault;
}

TEST(QueueStateTest, AFaultIsToldToOneCallThatSubmits) {
  QueueState state;
  EXPECT_TRUE(state.CheckSubmission().ok());
  state.Resume(Fault(1));
  EXPECT_EQ(state.CheckSubmission(), Fault(1));
  EXPECT_TRUE(state.CheckSubmission().ok());
  EXPECT_EQ(state.faults(), 1u);
}

TEST(QueueStateTest, AFaultThatACallReturnedIsNotToldAgain) {
  QueueState state;
  state.Resume(Fault(2));
  state.NoteTold(Fault(1));
  EXPECT_TRUE(state.fault_untold());
  state.NoteTold(Fault(2));
  EXPECT_FALSE(state.fault_untold());
}

TEST(QueueStateTest, EveryCallFailsUntilConsentAndNobodyIsToldAgain) {
  QueueState state;
  EXPECT_TRUE(absl::IsFailedPrecondition(state.Consent()));
  state.Ask(Fault(1));
  EXPECT_EQ(state.CheckSubmission(), Fault(1));
  EXPECT_EQ(state.CheckSubmission(), Fault(1));
  EXPECT_FALSE(state.consented());
  EXPECT_TRUE(state.Consent().ok());
  EXPECT_TRUE(state.consented());
  EXPECT_TRUE(state.asking());
  EXPECT_EQ(state.CheckSubmission(), Fault(1));
  state.Resume(Fault(1));
  EXPECT_FALSE(state.asking());
  EXPECT_TRUE(state.CheckSubmission().ok());
}

TEST(QueueStateTest, ASuspendedSessionTakesCommandsAndLosesNothing) {
  QueueState state;
  state.Suspend(/*wanted=*/false);
  EXPECT_TRUE(state.suspended());
  EXPECT_FALSE(state.wanted());
  EXPECT_TRUE(state.CheckSubmission().ok());
  state.Want();
  EXPECT_TRUE(state.suspended());
  EXPECT_TRUE(state.wanted());
  state.ResumeSuspended();
  EXPECT_FALSE(state.suspended());
  EXPECT_TRUE(state.CheckSubmission().ok());
  EXPECT_EQ(state.suspensions(), 1u);
  EXPECT_EQ(state.faults(), 0u);
}

// A caller that has consented does not wait until a command resumes the
// session.
TEST(QueueStateTest, ConsentEndsWhereTheSessionIsSuspended) {
  QueueState state;
  state.Ask(Fault(1));
  EXPECT_TRUE(state.Consent().ok());
  state.Suspend(/*wanted=*/false);
  EXPECT_FALSE(state.asking());
  EXPECT_TRUE(state.CheckSubmission().ok());
}

TEST(QueueStateTest, ASuspendedSessionThatLostCommandsTellsIt) {
  QueueState state;
  state.Suspend(/*wanted=*/true);
  state.Resume(Fault(1));
  EXPECT_FALSE(state.suspended());
  EXPECT_EQ(state.CheckSubmission(), Fault(1));
}

TEST(QueueStateTest, TheFirstReasonOfALossCountsAndIsToldAlways) {
  QueueState state;
  EXPECT_TRUE(state.Lose(absl::UnavailableError("the daemon ended")));
  EXPECT_FALSE(state.Lose(absl::CancelledError("closed")));
  state.SetFault(Fault(1));
  EXPECT_TRUE(absl::IsUnavailable(state.CheckSubmission()));
  EXPECT_TRUE(absl::IsUnavailable(state.CheckSubmission()));
  EXPECT_TRUE(absl::IsUnavailable(state.Consent()));
  EXPECT_TRUE(state.fault_untold());
}

TEST(QueueStateTest, AQuietThreadLeavesTheFaultUntold) {
  QueueState state;
  state.Resume(Fault(1));
  SetQuietThread(true);
  EXPECT_EQ(state.CheckSubmission(), Fault(1));
  SetQuietThread(false);
  EXPECT_TRUE(state.fault_untold());
}

}  // namespace
}  // namespace holdfast
