// SPDX-License-Identifier: Apache-2.0
#include "server/session/lease.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::session {
namespace {

constexpr absl::Duration kGrace = absl::Minutes(10);
const absl::Time kNow = absl::UnixEpoch();

TEST(LeaseTest, AClientThatNeverComesLosesItsSession) {
  const Lease lease(kGrace, kNow);
  EXPECT_FALSE(lease.detached());
  EXPECT_EQ(lease.deadline(), kNow + Lease::kFirstKeepAlive);
}

TEST(LeaseTest, TheGraceBeginsWithTheEndOfTheLastStream) {
  Lease lease(kGrace, kNow);
  lease.Connect();
  lease.Connect();
  EXPECT_EQ(lease.deadline(), absl::InfiniteFuture());
  EXPECT_FALSE(lease.Disconnect(kNow));
  EXPECT_TRUE(lease.connected());
  EXPECT_TRUE(lease.Disconnect(kNow));
  EXPECT_TRUE(lease.detached());
  EXPECT_EQ(lease.deadline(), kNow + kGrace);
}

TEST(LeaseTest, AClientThatReturnsHasTimeForAStream) {
  Lease lease(absl::Seconds(1), kNow);
  lease.Connect();
  lease.Disconnect(kNow);
  lease.Attach(kNow);
  EXPECT_EQ(lease.deadline(), kNow + Lease::kFirstKeepAlive);
}

TEST(LeaseTest, ASessionWithAClientIsNotClaimed) {
  Lease lease(kGrace, kNow);
  EXPECT_TRUE(absl::IsFailedPrecondition(lease.CheckClaim(kNow)));
  lease.Connect();
  EXPECT_TRUE(absl::IsFailedPrecondition(lease.CheckClaim(kNow)));
  lease.Disconnect(kNow);
  EXPECT_OK(lease.CheckClaim(kNow));
}

// Two clients would number their commands alike.
TEST(LeaseTest, OneClientAtATimeClaims) {
  Lease lease(absl::Seconds(1), kNow);
  lease.Connect();
  lease.Disconnect(kNow);
  lease.Claim(kNow);
  EXPECT_EQ(lease.deadline(), kNow + Lease::kFirstKeepAlive);
  EXPECT_TRUE(absl::IsFailedPrecondition(lease.CheckClaim(kNow)));
  EXPECT_OK(lease.CheckClaim(kNow + Lease::kFirstKeepAlive));
  lease.Unclaim();
  EXPECT_OK(lease.CheckClaim(kNow));
}

TEST(LeaseTest, AfterARestartTheClientMayReturnFirst) {
  Lease lease = Lease::Left(kGrace, kNow, /*had_client=*/true);
  EXPECT_EQ(lease.deadline(), kNow + kGrace);
  const absl::Status refused = lease.CheckClaim(kNow);
  EXPECT_TRUE(absl::StrContains(refused.message(), "may come back")) << refused;
  EXPECT_OK(lease.CheckClaim(kNow + Lease::kFirstKeepAlive));
  EXPECT_OK(Lease::Left(kGrace, kNow, /*had_client=*/false).CheckClaim(kNow));
}

TEST(LeaseTest, ALeftSessionWithoutGraceIsKeptForItsClient) {
  const Lease lease =
      Lease::Left(absl::ZeroDuration(), kNow, /*had_client=*/true);
  EXPECT_EQ(lease.deadline(), kNow + Lease::kFirstKeepAlive);
}

TEST(LeaseTest, ALostSessionIsKeptForItsError) {
  Lease lease(absl::ZeroDuration(), kNow);
  lease.NoteLost(kNow);
  EXPECT_EQ(lease.deadline(), kNow + Lease::kLostKept);
  lease.Connect();
  EXPECT_EQ(lease.deadline(), absl::InfiniteFuture());
  lease.Disconnect(kNow);
  EXPECT_EQ(lease.deadline(), kNow + Lease::kLostKept);
}

}  // namespace
}  // namespace holdfast::session
