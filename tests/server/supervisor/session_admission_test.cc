// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_admission.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace holdfast::supervisor {
namespace {

using ::holdfast::testing::StatusIs;

constexpr absl::StatusCode kUnavailable = absl::StatusCode::kUnavailable;

TEST(SessionAdmissionTest, APauseIsTakenBackAndADrainIsNot) {
  SessionAdmission admission;
  EXPECT_OK(admission.Check());
  admission.SetPaused(true);
  EXPECT_TRUE(admission.closed());
  EXPECT_THAT(admission.Check(), StatusIs(kUnavailable, "draining"));
  admission.SetPaused(false);
  EXPECT_OK(admission.Check());
  admission.Drain();
  admission.SetPaused(true);
  admission.SetPaused(false);
  EXPECT_TRUE(admission.closed());
  EXPECT_THAT(admission.Check(), StatusIs(kUnavailable, "draining"));
}

TEST(SessionAdmissionTest, ACallerWaitsForTheEndOfParkingAndNoLonger) {
  SessionAdmission admission;
  EXPECT_TRUE(admission.decided());
  admission.SetParking(true);
  EXPECT_FALSE(admission.decided());
  EXPECT_THAT(admission.Check(), StatusIs(kUnavailable, "makes way"));
  admission.SetParking(false);
  EXPECT_TRUE(admission.decided());
  EXPECT_OK(admission.Check());
}

TEST(SessionAdmissionTest, ARestartIsFinal) {
  SessionAdmission admission;
  admission.SetParking(true);
  admission.NoteRestart();
  EXPECT_TRUE(admission.decided());
  EXPECT_THAT(admission.Check(), StatusIs(kUnavailable, "makes way"));
  admission.SetParking(false);
  EXPECT_TRUE(admission.restarting());
  EXPECT_THAT(admission.Check(), StatusIs(kUnavailable, "makes way"));
  // The next daemon opens sessions, so this is no closed door.
  EXPECT_FALSE(admission.closed());
}

TEST(SessionAdmissionTest, NobodyWaitsForADaemonThatEnds) {
  SessionAdmission admission;
  admission.SetParking(true);
  admission.Drain();
  EXPECT_TRUE(admission.decided());
  EXPECT_THAT(admission.Check(), StatusIs(kUnavailable, "draining"));
}

TEST(SessionAdmissionTest, SessionsInTransitAreCountedByClient) {
  SessionAdmission admission;
  admission.Enter("uid 1");
  admission.Enter("uid 1");
  admission.Enter("uid 2");
  EXPECT_EQ(admission.in_transit(), 3u);
  EXPECT_EQ(admission.in_transit_of("uid 1"), 2u);
  admission.Leave("uid 1");
  admission.Leave("uid 1");
  EXPECT_EQ(admission.in_transit(), 1u);
  EXPECT_EQ(admission.in_transit_of("uid 1"), 0u);
  EXPECT_EQ(admission.in_transit_of("uid 2"), 1u);
}

}  // namespace
}  // namespace holdfast::supervisor
