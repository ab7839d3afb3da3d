// SPDX-License-Identifier: Apache-2.0
//
// The page in which executors of one tenant count together, from both ends.
#include "server/account/tenant_share.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/handle.h"
#include "core/base/memfd.h"
#include "core/base/quota_exceeded.h"
#include "server/tenants/tenant_counts.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using holdfast::testing::StatusIs;

constexpr auto kBuffer = static_cast<size_t>(HandleKind::kBuffer);
constexpr auto kStream = static_cast<size_t>(HandleKind::kStream);
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

class TenantShareTest : public ::testing::Test {
 protected:
  // A session of the tenant, and the executor that serves it.
  struct Session {
    std::unique_ptr<TenantCounts::Lease> lease;
    std::shared_ptr<TenantShare> share;

    absl::Status Take(uint64_t amount) const {
      return share->Take(kBuffer, amount, "buffer handles");
    }
  };

  std::shared_ptr<TenantShare> Serve(const TenantCounts::Lease& lease) {
    return TenantShare::Map(lease.memory(), lease.slot(), "team").value();
  }
  Session Open() {
    Session session = {counts_->TakeSlot().value(), nullptr};
    session.share = Serve(*session.lease);
    return session;
  }
  void SetLimits(uint64_t handles, uint64_t commands) {
    v1::Quota quota;
    quota.set_handles(handles);
    quota.set_outstanding_commands(commands);
    counts_->SetLimits(quota);
  }

  const std::shared_ptr<TenantCounts> counts_ =
      TenantCounts::Create("team").value();
};

TEST_F(TenantShareTest, HandlesOfAKindCountOverAllSessions) {
  SetLimits(5, 0);
  const Session a = Open(), b = Open();
  EXPECT_OK(a.Take(3));
  EXPECT_OK(b.Take(2));
  const absl::Status refused = b.Take(1);
  EXPECT_THAT(refused, StatusIs(kExhausted,
                                "buffer handles of tenant team: 1 asked for, "
                                "5 are in use, the limit is 5"));
  EXPECT_EQ(GetQuotaExceeded(refused),
            (QuotaExceeded{.quota = "buffer handles of tenant team",
                           .limit = 5,
                           .used = 5,
                           .requested = 1}));
  EXPECT_OK(b.share->Take(kStream, 5, "stream handles"));
  a.share->Return(kBuffer, 1);
  EXPECT_OK(b.Take(1));
}

TEST_F(TenantShareTest, ALimitHoldsAtOnceAndTakesNothingAway) {
  const Session a = Open(), b = Open();
  EXPECT_OK(a.Take(100));
  SetLimits(10, 0);
  EXPECT_THAT(b.Take(1), StatusIs(kExhausted, "100 are in use"));
  a.share->Return(kBuffer, 95);
  EXPECT_OK(b.Take(5));
  SetLimits(0, 0);
  EXPECT_OK(b.Take(1000));
}

TEST_F(TenantShareTest, ASessionThatEndsLeavesNothing) {
  SetLimits(5, 0);
  Session a = Open();
  const Session b = Open();
  EXPECT_OK(a.Take(5));
  a = {};
  EXPECT_OK(b.Take(5));
  EXPECT_THAT(Open().Take(1), StatusIs(kExhausted, "5 are in use"));
}

TEST_F(TenantShareTest, ASuccessorHasAllThatTheSessionHadAndNobodyElseHas) {
  SetLimits(5, 0);
  Session a = Open();
  const Session b = Open();
  EXPECT_OK(a.Take(4));
  a.lease->BeginRestore();
  a.share = Serve(*a.lease);
  SetLimits(3, 0);
  EXPECT_THAT(b.Take(1), StatusIs(kExhausted, "4 are in use"));
  EXPECT_OK(a.Take(2));
  // The first successor fails.
  a.lease->BeginRestore();
  EXPECT_THAT(b.Take(1), StatusIs(kExhausted, "4 are in use"));
  EXPECT_OK(a.Take(4));
  a.lease->EndRestore();
  EXPECT_THAT(a.Take(1), StatusIs(kExhausted, "4 are in use"));
  a.share->Return(kBuffer, 2);
  EXPECT_OK(b.Take(1));
}

TEST_F(TenantShareTest, CommandsWaitForThoseOfOtherSessions) {
  SetLimits(0, 10);
  const Session a = Open(), b = Open();
  const auto await = [](const Session& session, uint64_t count) {
    return session.share->Await(TenantPage::kCommands, count, "commands");
  };
  EXPECT_OK(await(a, 10));
  EXPECT_THAT(await(b, 11), StatusIs(kExhausted, "the limit is 10"));
  std::atomic<bool> done = false;
  std::thread waiting([&] {
    EXPECT_OK(await(b, 4));
    done = true;
  });
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_FALSE(done);
  a.share->Return(TenantPage::kCommands, 4);
  waiting.join();
  EXPECT_TRUE(done);
  std::thread closed([&] {
    EXPECT_THAT(await(b, 1),
                StatusIs(absl::StatusCode::kUnavailable, "being closed"));
  });
  b.share->Close();
  closed.join();
}

// Never more than the limit, whoever asks at the same instant.
TEST_F(TenantShareTest, TheLimitIsExactForThreadsThatRace) {
  SetLimits(7, 0);
  std::vector<Session> sessions;
  for (int i = 0; i < 4; ++i) sessions.push_back(Open());
  std::atomic<int> held = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (const Session& session : sessions) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        if (!session.Take(2).ok()) continue;
        const int now = held += 2;
        for (int before = most; now > before;) {
          if (most.compare_exchange_weak(before, now)) break;
        }
        held -= 2;
        session.share->Return(kBuffer, 2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 7);
  EXPECT_OK(sessions[0].Take(7));
}

TEST_F(TenantShareTest, AnExecutorThatWritesWhatItLikesHarmsItsTenantAlone) {
  SetLimits(5, 0);
  const Session a = Open(), b = Open();
  a.share->Return(kBuffer, 1);  // As one that was killed while it counted.
  EXPECT_OK(b.Take(5));
  EXPECT_THAT(b.Take(1), StatusIs(kExhausted, "5 are in use"));
  EXPECT_FALSE(TenantShare::Map(-1, 0, "team").ok());
  EXPECT_FALSE(
      TenantShare::Map(a.lease->memory(), TenantPage::kSlots, "").ok());
}

// Sums go over the slots that are in use, or lie between such.
TEST_F(TenantShareTest, SlotsThatComeBackAreNotSummed) {
  Session a = Open(), b = Open(), c = Open();
  const auto mapping =
      FileMapping::Map(a.lease->memory(), FileMapping::Access::kReadOnly);
  ASSERT_OK(mapping);
  const auto& page = *static_cast<const TenantPage*>(mapping->data());
  EXPECT_EQ(page.slots_used, 3u);
  b = {};
  EXPECT_EQ(page.slots_used, 3u);
  c = {};
  EXPECT_EQ(page.slots_used, 1u);
  const Session again = Open();
  EXPECT_EQ(page.slots_used, 2u);
}

TEST_F(TenantShareTest, ATenantHasSoManySessionsAtMost) {
  std::vector<std::unique_ptr<TenantCounts::Lease>> leases;
  for (uint32_t i = 0; i < TenantPage::kSlots; ++i) {
    leases.push_back(counts_->TakeSlot().value());
  }
  EXPECT_THAT(counts_->TakeSlot().status(), StatusIs(kExhausted, "team"));
  leases.pop_back();
  EXPECT_OK(counts_->TakeSlot().status());
}

}  // namespace
}  // namespace holdfast
