// SPDX-License-Identifier: Apache-2.0
#include "server/account/quota.h"

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/account/account.h"
#include "server/account/chunk_limit.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using holdfast::testing::StatusIs;

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

std::shared_ptr<Quota> Make(uint64_t limit) {
  return Quota::Create({.name = "pinned memory",
                        .unit = "bytes",
                        .limit = limit,
                        .set_by = "--pinned-memory"});
}

TEST(QuotaTest, ALimitBelowWhatIsHeldRefusesAllButNothing) {
  const auto quota = Make(1000);
  ASSERT_OK_AND_ASSIGN(const Charge held, quota->Take(600));
  quota->SetLimit(500, "the session's quota");
  EXPECT_OK(quota->Take(0).status());
  EXPECT_THAT(quota->Take(1).status(),
              StatusIs(kExhausted,
                       "pinned memory: 1 bytes asked for, 600 are in use, the "
                       "limit is 500 bytes (the session's quota)"));
  quota->NotePeak(900);
  EXPECT_EQ(quota->peak(), 900u);
}

TEST(QuotaTest, TheLimitMayBeReachedAndOneMoreIsRefusedWithAllFigures) {
  const auto quota = Make(1000);
  ASSERT_OK_AND_ASSIGN(const Charge first, quota->Take(999));
  ASSERT_OK_AND_ASSIGN(Charge last, quota->Take(1));
  EXPECT_THAT(quota->Take(1).status(),
              StatusIs(kExhausted,
                       "pinned memory: 1 bytes asked for, 1000 are in use, "
                       "the limit is 1000 bytes (--pinned-memory)"));
  EXPECT_EQ(quota->used(), 1000u);
  last = Charge();
  EXPECT_EQ(quota->used(), 999u);
  EXPECT_OK(quota->Take(1).status());
}

TEST(QuotaTest, SumsThatOverflowAreRefused) {
  for (const uint64_t limit : {uint64_t{1000}, Quota::kUnlimited}) {
    const auto quota = Make(limit);
    ASSERT_OK_AND_ASSIGN(const Charge charge, quota->Take(10));
    EXPECT_THAT(quota->Take(UINT64_MAX).status(), StatusIs(kExhausted, ""));
    EXPECT_THAT(quota->Take(UINT64_MAX - 9).status(), StatusIs(kExhausted, ""));
    EXPECT_EQ(quota->used(), 10u);
  }
  EXPECT_OK(Make(Quota::kUnlimited)->Take(UINT64_MAX).status());
}

TEST(QuotaTest, AMovedChargeIsReturnedOnce) {
  const auto quota = Make(10);
  {
    ASSERT_OK_AND_ASSIGN(Charge a, quota->Take(3));
    ASSERT_OK_AND_ASSIGN(Charge b, quota->Take(4));
    Charge c = std::move(a);
    EXPECT_EQ(quota->used(), 7u);
    c = std::move(b);
    EXPECT_EQ(quota->used(), 4u);
    EXPECT_EQ(c.amount(), 4u);
  }
  EXPECT_EQ(quota->used(), 0u);
}

TEST(QuotaTest, ChargesAreAddedAndReturnedInParts) {
  const auto quota = Make(10);
  {
    Charge sum;
    for (int i = 0; i < 3; ++i) sum.Add(*quota->Take(2));
    EXPECT_EQ(sum.amount(), 6u);
    sum.Return(5);
    EXPECT_EQ(quota->used(), 1u);
  }
  EXPECT_EQ(quota->used(), 0u);
}

TEST(QuotaTest, AChargeOutlivesItsQuotasOwner) {
  auto quota = Make(10);
  Charge charge = *quota->Take(1);
  quota = nullptr;
  charge = Charge();
}

TEST(QuotaTest, ThreadsThatTakeAndReturnNeverExceedIt) {
  const auto quota = Make(10);
  std::atomic<int64_t> held{0};
  std::atomic<bool> exceeded{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20000; ++i) {
        const uint64_t amount = static_cast<uint64_t>(1 + (i + t) % 5);
        auto charge = quota->Take(amount);
        if (!charge.ok()) continue;
        if ((held += static_cast<int64_t>(amount)) > 10) exceeded = true;
        held -= static_cast<int64_t>(amount);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(quota->used(), 0u);
}

TEST(QuotaTest, OneThatWaitsGetsInWhenThereIsRoom) {
  const auto quota = Make(10);
  Charge all = *quota->Take(10);
  std::thread waiter([&] { EXPECT_OK(quota->Await(3).status()); });
  all.Return(3);
  waiter.join();
}

TEST(QuotaTest, OneThatWaitsForMoreThanThereWillEverBeIsRefused) {
  EXPECT_THAT(Make(10)->Await(11).status(), StatusIs(kExhausted, ""));
}

TEST(QuotaTest, ALimitThatFallsEndsTheWaitForMore) {
  const auto quota = Make(10);
  const Charge all = *quota->Take(10);
  std::thread waiter([&] {
    EXPECT_THAT(quota->Await(3).status(),
                StatusIs(kExhausted,
                         "3 bytes asked for, 10 are in use, the "
                         "limit is 2"));
  });
  absl::SleepFor(absl::Milliseconds(50));
  quota->SetLimit(2);
  waiter.join();
}

TEST(QuotaTest, ClosingEndsTheWait) {
  const auto quota = Make(1);
  const Charge all = *quota->Take(1);
  std::thread waiter([&] {
    EXPECT_THAT(quota->Await(1).status(),
                StatusIs(absl::StatusCode::kUnavailable, "closed"));
  });
  quota->Close();
  waiter.join();
}

TEST(QuotaTest, NothingIsSettledWhileFreedMemoryWouldMakeRoom) {
  const auto quota = Make(10);
  Charge freed = *quota->Take(6);
  const Charge kept = *quota->Take(3);
  int calls = 0;
  const auto count = [&calls] { ++calls; };
  EXPECT_TRUE(quota->IsSettled(2, count));  // Refused, for good.
  freed.BeginReturn();
  EXPECT_EQ(quota->used(), 9u);
  EXPECT_TRUE(quota->IsSettled(1, count));   // Fits.
  EXPECT_TRUE(quota->IsSettled(8, count));   // Will not fit.
  EXPECT_TRUE(quota->IsSettled(11, count));  // Never would.
  EXPECT_TRUE(quota->IsSettled(UINT64_MAX, count));
  EXPECT_FALSE(quota->IsSettled(7, count));
  std::stop_source call;
  std::thread waiter(
      [&] { EXPECT_FALSE(quota->AwaitSettled(7, call.get_token())); });
  call.request_stop();
  waiter.join();
  EXPECT_EQ(calls, 0);
  freed = Charge();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(quota->IsSettled(7, count));
  EXPECT_TRUE(quota->AwaitSettled(7, {}));
  EXPECT_OK(quota->Take(7).status());
}

TEST(QuotaTest, APartOfWhatIsReturningIsReturningToo) {
  const auto quota = Make(100);
  const auto never = [] {};
  ASSERT_OK_AND_ASSIGN(Charge charge, quota->Take(100));
  charge.BeginReturn();
  Charge part = charge.Split(40);
  EXPECT_FALSE(quota->IsSettled(100, never));
  charge = Charge();
  EXPECT_FALSE(quota->IsSettled(100, never));  // `part` is still to come.
  part = Charge();
  EXPECT_TRUE(quota->IsSettled(100, never));
  // Nothing is returning any more, so a refusal is final.
  ASSERT_OK_AND_ASSIGN(const Charge all, quota->Take(100));
  EXPECT_TRUE(quota->IsSettled(1, never));
}

TEST(QuotaTest, ASumOfWhatIsReturningAndWhatIsNotIsNot) {
  const auto quota = Make(100);
  const auto never = [] {};
  for (const bool first : {true, false}) {
    ASSERT_OK_AND_ASSIGN(Charge charge, quota->Take(60));
    ASSERT_OK_AND_ASSIGN(Charge other, quota->Take(40));
    (first ? charge : other).BeginReturn();
    bool asks_again = false;
    EXPECT_FALSE(quota->IsSettled(10, [&] { asks_again = true; }));
    charge.Add(std::move(other));
    EXPECT_TRUE(asks_again);
    EXPECT_TRUE(quota->IsSettled(10, never));
    charge.BeginReturn();
    EXPECT_FALSE(quota->IsSettled(100, never));
  }
  ASSERT_OK_AND_ASSIGN(const Charge all, quota->Take(100));
  EXPECT_TRUE(quota->IsSettled(1, never));
}

TEST(QuotaTest, WhatTheOtherProcessRefusesIsNotCounted) {
  uint64_t reserved = 0;
  const auto quota = Quota::Create(
      {.limit = 100,
       .reserve =
           [&](uint64_t amount) {
             if (reserved + amount > 50) {
               return absl::ResourceExhaustedError("the daemon's");
             }
             reserved += amount;
             return absl::OkStatus();
           },
       .release = [&](uint64_t amount) { reserved -= amount; }});
  {
    ASSERT_OK_AND_ASSIGN(const Charge charge, quota->Take(50));
    EXPECT_THAT(quota->Take(1).status(), StatusIs(kExhausted, "the daemon's"));
    EXPECT_EQ(quota->used(), 50u);
    // The own limit first: the other process is not asked.
    EXPECT_THAT(quota->Take(51).status(), StatusIs(kExhausted, "51"));
  }
  EXPECT_EQ(quota->used(), 0u);
  EXPECT_EQ(reserved, 0u);
}

TEST(AccountTest, EachKindHasItsOwnLimit) {
  internal::AccountLimits limits;
  limits.set_device_bytes(1 << 20);
  limits.set_device_bytes_set_by("memory_limit of OpenSession");
  limits.set_pinned_bytes(4096);
  limits.set_handles(3);
  Account account({.limits = limits});
  EXPECT_THAT(account.device_memory()->Take((1 << 20) + 1).status(),
              StatusIs(kExhausted, "memory_limit of OpenSession"));
  ASSERT_OK_AND_ASSIGN(const Charge device,
                       account.device_memory()->Take(1 << 20));
  ASSERT_OK_AND_ASSIGN(const Charge pinned,
                       account.pinned_memory()->Take(4096));
  ASSERT_OK_AND_ASSIGN(const Charge arena,
                       account.arena_memory()->Take(uint64_t{1} << 40));
  ASSERT_OK_AND_ASSIGN(const Charge events,
                       account.handles(HandleKind::kEvent)->Take(3));
  EXPECT_THAT(account.handles(HandleKind::kEvent)->Take(1).status(),
              StatusIs(kExhausted, "event handles"));
  EXPECT_OK(account.handles(HandleKind::kStream)->Take(3).status());
  v1::SessionUsage usage;
  account.Report(&usage);
  EXPECT_EQ(usage.device_bytes().used(), 1u << 20);
  EXPECT_EQ(usage.device_bytes().limit(), 1u << 20);
  EXPECT_EQ(usage.arena_bytes().used(), uint64_t{1} << 40);
  EXPECT_EQ(usage.arena_bytes().limit(), 0u);
  ASSERT_EQ(usage.handles_size(), 1);
  EXPECT_EQ(usage.handles(0).kind(), v1::HANDLE_KIND_EVENT);
}

TEST(AccountTest, ArenasAreBoundedWithoutALimit) {
  Account account({});
  EXPECT_OK(account.handles(HandleKind::kArena)->Take(64).status());
  EXPECT_THAT(account.handles(HandleKind::kArena)->Take(65).status(),
              StatusIs(kExhausted, "the limit is 64"));
}

TEST(AccountTest, OnlyWhatSessionsTakeFromEachOtherIsAskedFor) {
  std::vector<std::string> asked;
  Account account({.reserve =
                       [&](const internal::MemoryPlace& place, uint64_t) {
                         asked.push_back(place.ShortDebugString());
                         return absl::OkStatus();
                       },
                   .release = [](const internal::MemoryPlace&, uint64_t) {}});
  EXPECT_OK(account.device_memory()->Take(1).status());
  EXPECT_OK(account.handles(HandleKind::kEvent)->Take(1).status());
  EXPECT_TRUE(asked.empty());
  EXPECT_OK(account.reserved_memory(3)->Take(1).status());
  EXPECT_OK(account.pinned_memory()->Take(1).status());
  EXPECT_OK(account.arena_memory()->Take(1).status());
  EXPECT_OK(account.staging_memory()->Take(1).status());
  EXPECT_EQ(asked,
            (std::vector<std::string>{"device: 3", "host: HOST_MEMORY_PINNED",
                                      "host: HOST_MEMORY_ARENA",
                                      "host: HOST_MEMORY_STAGING"}));
}

TEST(AccountTest, BuffersAreAskedForIfATenantCountsThem) {
  internal::AccountLimits limits;
  limits.set_device_bytes(10);
  limits.set_reserve_buffers(true);
  uint64_t granted = 0;
  Account account({.limits = limits,
                   .reserve =
                       [&](const internal::MemoryPlace& place, uint64_t bytes) {
                         EXPECT_TRUE(place.buffers());
                         granted += bytes;
                         return granted > 7 ? absl::ResourceExhaustedError(
                                                  "of the tenant")
                                            : absl::OkStatus();
                       },
                   .release = [&](const internal::MemoryPlace&,
                                  uint64_t bytes) { granted -= bytes; }});
  {
    const Charge held = *account.device_memory()->Take(7);
    // The session's own limit is first.
    EXPECT_THAT(account.device_memory()->Take(4).status(),
                StatusIs(kExhausted, "the limit is 10"));
    EXPECT_THAT(account.device_memory()->Take(1).status(),
                StatusIs(kExhausted, "of the tenant"));
    EXPECT_EQ(account.device_memory()->used(), 7u);
    granted = 7;
  }
  EXPECT_EQ(granted, 0u);
}

TEST(QuotaTest, ALimitThatShrinksTakesNothingAwayAndGrantsNothing) {
  const auto quota = Quota::Create({.name = "x", .unit = "bytes", .limit = 9});
  Charge held = *quota->Take(8);
  quota->SetLimit(5);
  EXPECT_EQ(quota->used(), 8u);
  EXPECT_FALSE(quota->Take(1).ok());
  held.Return(4);
  EXPECT_OK(quota->Take(1).status());
  EXPECT_FALSE(quota->Take(2).ok());
  EXPECT_EQ(quota->peak(), 8u);
}

TEST(ChunkLimitTest, SaturatesInEachPart) {
  EXPECT_EQ(ChunkLimit(100, 2), 200 + 2 * kChunkSlackOfDevice);
  EXPECT_EQ(ChunkLimit(Quota::kUnlimited, 0), Quota::kUnlimited);
  EXPECT_EQ(ChunkLimit(Quota::kUnlimited / 2, 1), Quota::kUnlimited);
  constexpr size_t kTooMany = Quota::kUnlimited / kChunkSlackOfDevice + 1;
  EXPECT_EQ(ChunkLimit(0, kTooMany), Quota::kUnlimited);
}

TEST(AccountTest, ChunksOfAllDevicesAreOneFigure) {
  Account account({});
  const Charge a = *account.reserved_memory(0)->Take(10);
  const Charge b = *account.reserved_memory(1)->Take(5);
  v1::SessionUsage usage;
  account.Report(&usage);
  EXPECT_EQ(usage.reserved_bytes().used(), 15u);
}

}  // namespace
}  // namespace holdfast
