// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/start_backoff.h"

#include <gtest/gtest.h>

namespace holdfast::supervisor {
namespace {

const absl::Time kNow = absl::UnixEpoch();

StartBackoff Fresh() { return {absl::Seconds(1), absl::Seconds(5)}; }

TEST(StartBackoffTest, AFreshPoolMayStartAtOnce) {
  const StartBackoff backoff = Fresh();
  EXPECT_FALSE(backoff.paused());
  EXPECT_FALSE(backoff.TooManyLost());
  EXPECT_LT(backoff.settled(), kNow);
}

TEST(StartBackoffTest, EachFailureDoublesThePauseUpToTheLongest) {
  StartBackoff backoff = Fresh();
  for (const int seconds : {1, 2, 4, 5, 5}) {
    EXPECT_EQ(backoff.NoteFailed(absl::UnavailableError("no"), kNow),
              absl::Seconds(seconds));
    EXPECT_EQ(backoff.retry(), kNow + absl::Seconds(seconds));
  }
}

TEST(StartBackoffTest, APauseEndsAtItsTimeAndKeepsItsReasonUntilThen) {
  StartBackoff backoff = Fresh();
  backoff.NoteFailed(absl::UnavailableError("no device"), kNow);
  backoff.EndPauseAt(kNow + absl::Milliseconds(999));
  EXPECT_TRUE(backoff.paused());
  EXPECT_EQ(backoff.failure(), absl::UnavailableError("no device"));
  backoff.EndPauseAt(kNow + absl::Seconds(1));
  EXPECT_FALSE(backoff.paused());
  // The second failure is told apart from the first: its pause is longer.
  EXPECT_EQ(backoff.NoteFailed(absl::UnavailableError("no"), kNow),
            absl::Seconds(2));
}

TEST(StartBackoffTest, OnlyAReadyExecutorMakesTheNextPauseShortAgain) {
  StartBackoff backoff = Fresh();
  backoff.NoteFailed(absl::UnavailableError("no"), kNow);
  backoff.EndPause();
  EXPECT_FALSE(backoff.paused());
  backoff.NoteFailed(absl::UnavailableError("no"), kNow);
  backoff.NoteReady();
  // Another executor is ready, but the failed start is still not tried again.
  EXPECT_TRUE(backoff.paused());
  EXPECT_EQ(backoff.NoteFailed(absl::UnavailableError("no"), kNow),
            absl::Seconds(1));
}

TEST(StartBackoffTest, ASessionThatTookAnExecutorIsNotHeldUpByTheNextStart) {
  StartBackoff backoff = Fresh();
  backoff.NoteTaken(/*others_wait=*/false, kNow);
  EXPECT_EQ(backoff.settled(), kNow + absl::Milliseconds(200));
  backoff.NoteTaken(/*others_wait=*/true, kNow);
  EXPECT_EQ(backoff.settled(), kNow + absl::Seconds(1));
  EXPECT_FALSE(backoff.paused());  // a call that waits gets an executor
}

TEST(StartBackoffTest, ThreeLostInARowAreTooManyUnlessOneWasTakenBetween) {
  StartBackoff backoff = Fresh();
  backoff.NoteLost();
  backoff.NoteLost();
  EXPECT_FALSE(backoff.TooManyLost());
  backoff.NoteTaken(/*others_wait=*/false, kNow);
  backoff.NoteLost();
  backoff.NoteLost();
  EXPECT_FALSE(backoff.TooManyLost());
  // Executors that only become ready, and die again, do not count as use.
  backoff.NoteReady();
  backoff.NoteLost();
  EXPECT_TRUE(backoff.TooManyLost());
}

}  // namespace
}  // namespace holdfast::supervisor
