// SPDX-License-Identifier: Apache-2.0
#include "server/memory/memory_ledger.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/quota_exceeded.h"
#include "server/restart/lifted_limits.h"
#include "server/tenants/tenant.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using holdfast::testing::StatusIs;

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr uint64_t kMiB = uint64_t{1} << 20;

internal::MemoryPlace Device(uint32_t ordinal) {
  internal::MemoryPlace place;
  place.set_device(ordinal);
  return place;
}

internal::MemoryPlace Host(
    internal::HostMemory memory = internal::HOST_MEMORY_PINNED) {
  internal::MemoryPlace place;
  place.set_host(memory);
  return place;
}

internal::MemoryPlace Buffers() {
  internal::MemoryPlace place;
  place.set_buffers(true);
  return place;
}

std::shared_ptr<Tenant> MakeTenant(const v1::Quota& quota) {
  return std::make_shared<Tenant>(Tenant::Options{
      .name = "alice", .kind = Tenant::Kind::kTemporary, .quota = quota});
}

class MemoryLedgerTest : public ::testing::Test {
 protected:
  MemoryLedgerTest() { AddDevices(256 * kMiB); }

  // 0 and 1.
  void AddDevices(uint64_t bytes) {
    internal::Ready ready;
    for (uint32_t i = 0; i < 2; ++i) {
      ready.add_devices()->set_ordinal(i);
      ready.mutable_devices(static_cast<int>(i))->set_total_memory(bytes);
    }
    ledger_.AddDevices(ready);
  }

  // The sums: host, device 0, device 1.
  std::vector<uint64_t> Used() const {
    v1::MemoryTotals totals;
    ledger_.Report(&totals);
    std::vector<uint64_t> used = {totals.host_bytes().used()};
    for (const auto& device : totals.devices()) {
      used.push_back(device.reserved_bytes().used());
    }
    return used;
  }

  MemoryLedger ledger_{1000 * kMiB};
};

TEST_F(MemoryLedgerTest, SessionsShareADeviceToTheLastByte) {
  MemoryGrants a(ledger_), b(ledger_);
  a.Open({}, 0);
  b.Open({}, 0);
  EXPECT_OK(a.Reserve(Device(0), 200 * kMiB));
  EXPECT_THAT(b.Reserve(Device(0), 56 * kMiB + 1),
              StatusIs(kExhausted, "memory of device 0"));
  EXPECT_OK(b.Reserve(Device(0), 56 * kMiB));
  EXPECT_OK(b.Reserve(Device(1), 256 * kMiB));
  EXPECT_EQ(Used(), (std::vector<uint64_t>{0, 256 * kMiB, 256 * kMiB}));
  EXPECT_OK(a.Release(Device(0), 1));
  EXPECT_OK(b.Reserve(Device(0), 1));
}

TEST_F(MemoryLedgerTest, WhatAnExecutorHeldIsBackWhenItIsClosedOrGone) {
  {
    MemoryGrants gone(ledger_);
    gone.Open({}, 0);
    EXPECT_OK(gone.Reserve(Device(0), 5));
    EXPECT_OK(gone.Reserve(Host(), 6));
    EXPECT_EQ(Used(), (std::vector<uint64_t>{6, 5, 0}));
  }
  EXPECT_EQ(Used(), (std::vector<uint64_t>{0, 0, 0}));
  MemoryGrants closed(ledger_);
  closed.Open({}, 0);
  EXPECT_OK(closed.Reserve(Host(), 6));
  closed.Close();
  EXPECT_EQ(Used(), (std::vector<uint64_t>{0, 0, 0}));
  // Messages of a dead process that are still to be read.
  EXPECT_OK(closed.Release(Host(), 6));
  EXPECT_FALSE(closed.Reserve(Host(), 6).ok());
  EXPECT_EQ(Used(), (std::vector<uint64_t>{0, 0, 0}));
}

TEST_F(MemoryLedgerTest, NothingIsGrantedWithoutASession) {
  MemoryGrants grants(ledger_);
  EXPECT_THAT(grants.Reserve(Host(), 1),
              StatusIs(absl::StatusCode::kFailedPrecondition, "no session"));
}

TEST_F(MemoryLedgerTest, ASessionsChunksAreBoundedByItsLimit) {
  internal::AccountLimits limits;
  limits.set_device_bytes(kMiB);
  MemoryGrants one(ledger_), both(ledger_);
  one.Open(limits, 1);
  EXPECT_OK(one.Reserve(Device(0), 66 * kMiB));
  EXPECT_THAT(one.Reserve(Device(1), 1),
              StatusIs(kExhausted, "reserved by the session"));
  both.Open(limits, 0);
  EXPECT_OK(both.Reserve(Device(1), 130 * kMiB));
  EXPECT_FALSE(both.Reserve(Device(1), 1).ok());
}

TEST_F(MemoryLedgerTest, LimitsOfClientsDoNotOverflow) {
  internal::AccountLimits limits;
  limits.set_device_bytes(UINT64_MAX);
  limits.set_pinned_bytes(UINT64_MAX - 1);
  limits.set_arena_bytes(UINT64_MAX - 1);
  MemoryGrants grants(ledger_);
  grants.Open(limits, 1);
  EXPECT_OK(grants.Reserve(Device(0), 256 * kMiB));
  EXPECT_OK(grants.Reserve(Host(), 1000 * kMiB));
  EXPECT_THAT(grants.Reserve(Host(), UINT64_MAX),
              StatusIs(kExhausted, "host memory"));
}

TEST_F(MemoryLedgerTest, HostMemoryIsBoundedForOneAndForAll) {
  internal::AccountLimits limits;
  limits.set_pinned_bytes(100 * kMiB);
  limits.set_arena_bytes(100 * kMiB);
  MemoryGrants a(ledger_), b(ledger_);
  a.Open(limits, 1);
  EXPECT_OK(a.Reserve(Host(), 284 * kMiB));
  EXPECT_THAT(a.Reserve(Host(), 1),
              StatusIs(kExhausted, "host memory of the session"));
  b.Open({}, 1);
  EXPECT_THAT(b.Reserve(Host(), 716 * kMiB + 1),
              StatusIs(kExhausted, "host memory of all sessions"));
  EXPECT_OK(b.Reserve(Host(), 716 * kMiB));
}

TEST_F(MemoryLedgerTest, ATenantsBytesAreExactOverAllItsSessions) {
  v1::Quota quota;
  quota.set_device_bytes(100);
  quota.set_pinned_bytes(10);
  quota.set_arena_bytes(20);
  const auto tenant = MakeTenant(quota);
  MemoryGrants a(ledger_), b(ledger_);
  a.Open({}, 1, tenant);
  b.Open({}, 1, tenant);
  EXPECT_OK(a.Reserve(Buffers(), 60));
  EXPECT_OK(b.Reserve(Buffers(), 40));
  const absl::Status refused = a.Reserve(Buffers(), 1);
  EXPECT_THAT(refused, StatusIs(kExhausted, "device-memory of tenant alice"));
  EXPECT_EQ(GetQuotaExceeded(refused),
            (QuotaExceeded{.quota = "device-memory of tenant alice",
                           .limit = 100,
                           .used = 100,
                           .requested = 1}));
  EXPECT_OK(a.Release(Buffers(), 1));
  EXPECT_OK(b.Reserve(Buffers(), 1));
  EXPECT_OK(a.Reserve(Host(), 10));
  EXPECT_THAT(b.Reserve(Host(), 1), StatusIs(kExhausted, "pinned-memory"));
  EXPECT_OK(b.Reserve(Host(internal::HOST_MEMORY_ARENA), 20));
  EXPECT_THAT(a.Reserve(Host(internal::HOST_MEMORY_ARENA), 1),
              StatusIs(kExhausted, "arena-memory"));
  EXPECT_OK(a.Reserve(Host(internal::HOST_MEMORY_STAGING), 1000));
  // A request that the tenant's quota refused is charged nowhere.
  EXPECT_EQ(Used(), (std::vector<uint64_t>{1030, 0, 0}));
}

// A small buffer that can be shared has a chunk of 2 MiB of its own, so the
// buffers' bytes alone say little of what a tenant takes of a device.
TEST_F(MemoryLedgerTest, ATenantsChunksAreBoundedByItsQuota) {
  v1::Quota quota;
  quota.set_device_bytes(10 * kMiB);
  const auto tenant = MakeTenant(quota);
  MemoryGrants a(ledger_), b(ledger_);
  a.Open({}, 1, tenant);
  b.Open({}, 2, tenant);
  EXPECT_OK(a.Reserve(Device(0), 40 * kMiB));
  EXPECT_OK(b.Reserve(Device(1), 44 * kMiB));
  EXPECT_THAT(b.Reserve(Device(0), 2 * kMiB),
              StatusIs(kExhausted, "device memory reserved by tenant alice"));
  EXPECT_OK(a.Release(Device(0), 2 * kMiB));
  EXPECT_OK(b.Reserve(Device(0), 2 * kMiB));
  quota.set_device_bytes(11 * kMiB);
  tenant->SetQuota(quota);
  EXPECT_OK(b.Reserve(Device(0), 2 * kMiB));
  a.Close();
  EXPECT_EQ(tenant->chunk_bytes()->used(), 48 * kMiB);
  EXPECT_EQ(Used(), (std::vector<uint64_t>{0, 4 * kMiB, 44 * kMiB}));
}

TEST_F(MemoryLedgerTest, ADetachedChunkCountsInItsTenantsChunks) {
  v1::Quota quota;
  quota.set_device_bytes(10 * kMiB);
  const auto tenant = MakeTenant(quota);
  MemoryGrants::Detached detached;
  {
    MemoryGrants grants(ledger_);
    grants.Open({}, 1, tenant);
    EXPECT_OK(grants.Reserve(Device(0), 6 * kMiB));
    detached = *grants.Detach(Device(0), 4 * kMiB);
    EXPECT_EQ(tenant->chunk_bytes()->used(), 6 * kMiB);
  }
  EXPECT_EQ(tenant->chunk_bytes()->used(), 4 * kMiB);
  detached = {};
  EXPECT_EQ(tenant->chunk_bytes()->used(), 0u);
}

TEST_F(MemoryLedgerTest, ATenantWithoutAQuotaMayTakeTheDevice) {
  MemoryGrants grants(ledger_);
  grants.Open({}, 1, MakeTenant({}));
  EXPECT_OK(grants.Reserve(Device(0), 256 * kMiB));
}

TEST_F(MemoryLedgerTest, ATenantHasItsBytesBackWhenAnExecutorIsGone) {
  v1::Quota quota;
  quota.set_device_bytes(100);
  const auto tenant = MakeTenant(quota);
  {
    MemoryGrants gone(ledger_);
    gone.Open({}, 1, tenant);
    EXPECT_OK(gone.Reserve(Buffers(), 100));
    EXPECT_OK(gone.Reserve(Host(), 5));
  }
  EXPECT_EQ(tenant->device_bytes()->used(), 0u);
  EXPECT_EQ(tenant->pinned_bytes()->used(), 0u);
  EXPECT_EQ(tenant->Info().peak_device_bytes(), 100u);
}

TEST_F(MemoryLedgerTest, AHostileExecutorGetsNoMoreByItsMessages) {
  MemoryGrants grants(ledger_);
  grants.Open({}, 0);
  EXPECT_THAT(grants.Release(Host(), 1),
              StatusIs(absl::StatusCode::kInvalidArgument, "were granted"));
  EXPECT_OK(grants.Reserve(Device(0), 5));
  EXPECT_FALSE(grants.Release(Device(1), 5).ok());
  EXPECT_FALSE(grants.Release(Device(0), 6).ok());
  EXPECT_THAT(grants.Reserve(Device(7), 1),
              StatusIs(absl::StatusCode::kNotFound, "no device 7"));
  EXPECT_FALSE(grants.Release(Device(7), 0).ok());
  EXPECT_FALSE(grants.Reserve(Buffers(), 1).ok());
  EXPECT_FALSE(grants.Reserve({}, 1).ok());
  EXPECT_OK(grants.Reserve(Host(static_cast<internal::HostMemory>(77)), 0));
  EXPECT_EQ(Used(), (std::vector<uint64_t>{0, 5, 0}));
  // A device that is known stays as it is.
  AddDevices(UINT64_MAX);
  EXPECT_FALSE(grants.Reserve(Device(0), 256 * kMiB).ok());
}

TEST(ReservedLedgerTest, SessionsOfATenantShareWhatIsReservedForIt) {
  const auto shares = std::make_shared<DeviceShares>();
  MemoryLedger ledger(0, shares);
  internal::Ready ready;
  ready.add_devices()->set_total_memory(100);
  ledger.AddDevices(ready);
  shares->SetPolicy({{.tenant = "alice", .bytes = 30}});
  const auto alice = MakeTenant({});
  MemoryGrants a(ledger), b(ledger), other(ledger);
  a.Open({}, 1, alice);
  b.Open({}, 1, alice);
  other.Open({}, 1);
  EXPECT_OK(other.Reserve(Device(0), 70));
  EXPECT_THAT(other.Reserve(Device(0), 1),
              StatusIs(kExhausted, "30 more are reserved for other tenants"));
  EXPECT_OK(a.Reserve(Device(0), 20));
  EXPECT_OK(b.Reserve(Device(0), 10));
  EXPECT_THAT(b.Reserve(Device(0), 1), StatusIs(kExhausted, "device 0"));
  // Memory that outlives its session is still the tenant's.
  auto shared = a.Detach(Device(0), 20);
  ASSERT_TRUE(shared.ok());
  a.Close();
  EXPECT_FALSE(b.Reserve(Device(0), 1).ok());
  *shared = {};
  EXPECT_OK(b.Reserve(Device(0), 20));
  b.Close();
  EXPECT_FALSE(other.Reserve(Device(0), 1).ok());
}

TEST_F(MemoryLedgerTest, NobodyTakesWhatASuccessorIsToHave) {
  MemoryGrants grants(ledger_), other(ledger_);
  grants.Open({}, 0);
  other.Open({}, 0);
  EXPECT_OK(grants.Reserve(Device(0), 200 * kMiB));
  EXPECT_OK(grants.Reserve(Host(), 30 * kMiB));
  grants.BeginInheritance();
  EXPECT_FALSE(other.Reserve(Device(0), 57 * kMiB).ok());
  EXPECT_OK(grants.Reserve(Device(0), 150 * kMiB));
  EXPECT_EQ(Used()[1], 200 * kMiB);
  grants.EndInheritance();
  EXPECT_EQ(Used(), (std::vector<uint64_t>{0, 150 * kMiB, 0}));
  EXPECT_OK(grants.Release(Device(0), 150 * kMiB));
  EXPECT_FALSE(grants.Release(Device(0), 1).ok());
}

TEST_F(MemoryLedgerTest, ASuccessorThatFailsLeavesAllToTheNext) {
  MemoryGrants grants(ledger_);
  grants.Open({}, 0);
  EXPECT_OK(grants.Reserve(Device(0), 200 * kMiB));
  grants.BeginInheritance();
  EXPECT_OK(grants.Reserve(Device(0), 120 * kMiB));
  grants.BeginInheritance();
  EXPECT_EQ(Used()[1], 200 * kMiB);
  EXPECT_OK(grants.Reserve(Device(0), 256 * kMiB));
  EXPECT_FALSE(grants.Reserve(Device(0), 1).ok());
  grants.EndInheritance();
  EXPECT_EQ(Used()[1], 256 * kMiB);
  grants.Close();
  EXPECT_EQ(Used()[1], 0u);
}

TEST_F(MemoryLedgerTest, ASuspendedSessionKeepsItsArenasOnly) {
  MemoryGrants grants(ledger_);
  grants.Open({}, 0);
  internal::MemoryPlace arenas, pinned;
  arenas.set_host(internal::HOST_MEMORY_ARENA);
  pinned.set_host(internal::HOST_MEMORY_PINNED);
  EXPECT_OK(grants.Reserve(Device(0), 200 * kMiB));
  EXPECT_OK(grants.Reserve(arenas, 3));
  EXPECT_OK(grants.Reserve(pinned, 5));
  grants.Suspend();
  EXPECT_EQ(Used(), (std::vector<uint64_t>{3, 0, 0}));
  grants.BeginInheritance();
  EXPECT_OK(grants.Reserve(arenas, 3));
  EXPECT_OK(grants.Reserve(Device(0), 100 * kMiB));
  grants.EndInheritance();
  EXPECT_EQ(Used(), (std::vector<uint64_t>{3, 100 * kMiB, 0}));
}

TEST_F(MemoryLedgerTest, WhatIsCreditedIsNotChargedTwice) {
  MemoryGrants grants(ledger_);
  grants.Open({}, 0);
  EXPECT_OK(grants.Reserve(Device(0), 10 * kMiB));
  const auto detached = grants.Detach(Device(0), 10 * kMiB);
  ASSERT_OK(detached);
  grants.BeginInheritance();
  grants.Credit(Device(0), 10 * kMiB);
  EXPECT_OK(grants.Reserve(Device(0), 10 * kMiB));
  EXPECT_EQ(Used()[1], 10 * kMiB);
  grants.EndInheritance();
  EXPECT_OK(grants.Reserve(Device(0), 1));
  EXPECT_EQ(Used()[1], 10 * kMiB + 1);
  grants.Forgive(Device(0), 10 * kMiB);
  EXPECT_OK(grants.Release(Device(0), 10 * kMiB));
  EXPECT_EQ(Used()[1], 10 * kMiB + 1);
}

// alice and bob, and the daemon's host memory of 1000 MiB.
class DividedHostMemoryTest : public ::testing::Test {
 protected:
  // Opens a session of a tenant with a quota of pinned memory; 0: none.
  void Open(MemoryGrants& grants, const std::string& name, uint64_t pinned) {
    v1::Quota quota;
    quota.set_pinned_bytes(pinned);
    auto& tenant = tenants_[name];
    if (tenant == nullptr) {
      tenant = std::make_shared<Tenant>(
          Tenant::Options{.name = name, .quota = quota});
    }
    grants.Open({}, 1, tenant);
  }

  std::map<std::string, std::shared_ptr<Tenant>> tenants_;
  MemoryLedger ledger_{1000 * kMiB, /*shares=*/nullptr, /*divide_host=*/true};
  MemoryGrants a_{ledger_}, b_{ledger_};
};

TEST_F(DividedHostMemoryTest, ATenantWithoutAQuotaLeavesAsMuchAsItHas) {
  MemoryGrants second(ledger_);
  Open(a_, "alice", 0);
  Open(second, "alice", 0);
  Open(b_, "bob", 0);
  EXPECT_OK(a_.Reserve(Host(), 300 * kMiB));
  EXPECT_OK(second.Reserve(Host(internal::HOST_MEMORY_ARENA), 200 * kMiB));
  EXPECT_THAT(second.Reserve(Host(internal::HOST_MEMORY_ARENA), 1),
              StatusIs(kExhausted,
                       "host memory of tenant alice, which has no quota: 1 "
                       "bytes asked for, it holds 524288000"));
  EXPECT_OK(b_.Reserve(Host(), 250 * kMiB));
  EXPECT_THAT(b_.Reserve(Host(), 1), StatusIs(kExhausted, "of tenant bob"));
  EXPECT_OK(a_.Release(Host(), 300 * kMiB));
  EXPECT_OK(b_.Reserve(Host(), 125 * kMiB));
}

TEST_F(DividedHostMemoryTest, AQuotaAllowsWhatItSays) {
  Open(a_, "alice", 900 * kMiB);
  Open(b_, "bob", 0);
  EXPECT_OK(a_.Reserve(Host(), 900 * kMiB));
  EXPECT_THAT(a_.Reserve(Host(), 1), StatusIs(kExhausted, "pinned-memory"));
  EXPECT_OK(b_.Reserve(Host(), 50 * kMiB));
  EXPECT_FALSE(b_.Reserve(Host(), 1).ok());
}

TEST_F(DividedHostMemoryTest, ANewDaemonTakesOverWhatIsHeld) {
  Open(a_, "alice", 0);
  {
    LiftedLimits limits;
    limits.Lift(ledger_.host());
    EXPECT_OK(a_.Reserve(Host(), 800 * kMiB));
  }
  EXPECT_FALSE(a_.Reserve(Host(), 1).ok());
  a_.Close();
  Open(b_, "bob", 0);
  EXPECT_OK(b_.Reserve(Host(), 500 * kMiB));
}

}  // namespace
}  // namespace holdfast
