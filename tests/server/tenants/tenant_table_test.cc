// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/tenant_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/account/chunk_limit.h"
#include "server/account/quota.h"
#include "server/identity/identity.h"

namespace holdfast {
namespace {

using absl::StatusCode;

v1::CreateTenantRequest Request(const std::string& name) {
  v1::CreateTenantRequest request;
  request.set_name(name);
  return request;
}

UserIdentity User(uid_t uid) { return {.uid = uid, .gid = uid}; }

class TenantTableTest : public testing::Test {
 protected:
  StatusCode CodeOf(const v1::CreateTenantRequest& request) {
    return tenants_.Create(request).status().code();
  }

  TenantTable tenants_;
};

TEST_F(TenantTableTest, AnIdentityThatNothingNamesIsItsOwnTenant) {
  const auto a = tenants_.Of(User(7));
  EXPECT_EQ(a->name(), "uid 7");
  EXPECT_EQ(a->code_owner(), "uid 7");
  EXPECT_FALSE(a->counts_buffers());
  EXPECT_EQ(tenants_.Of(User(7)), a);
  EXPECT_NE(tenants_.Of(User(8)), a);
}

// Collections lie on the device as buffers do, and outlive sessions.
TEST(TenantTest, CollectionsAreBoundedAsBuffersAreUnlessTheQuotaSaysOtherwise) {
  v1::Quota quota;
  quota.set_device_bytes(100);
  Tenant tenant({.name = "team", .quota = quota});
  EXPECT_EQ(tenant.collection_bytes()->limit(), 100 + kChunkSlackOfDevice);
  EXPECT_EQ(tenant.quota().collection_bytes(), 100 + kChunkSlackOfDevice);
  const auto refusal = [&] {
    const uint64_t limit = tenant.collection_bytes()->limit();
    return std::string(
        tenant.collection_bytes()->Take(limit + 1).status().message());
  };
  EXPECT_TRUE(absl::StrContains(refusal(), "quota of device-memory"));
  quota.set_collection_bytes(200);
  tenant.SetQuota(quota);
  EXPECT_EQ(tenant.collection_bytes()->limit(), 200u);
  EXPECT_FALSE(absl::StrContains(refusal(), "quota of device-memory"));
  tenant.SetQuota({});
  EXPECT_EQ(tenant.collection_bytes()->limit(), Quota::kUnlimited);
  quota.set_collection_bytes(0);
  quota.set_device_bytes(Quota::kUnlimited - 1);
  tenant.SetQuota(quota);
  EXPECT_EQ(tenant.collection_bytes()->limit(), Quota::kUnlimited);
  quota.set_device_bytes(100);
  tenant.SetQuota(quota);
  EXPECT_EQ(tenant.collection_bytes()->limit(), 100 + kChunkSlackOfDevice);
}

// Else the next machine with the address would run code that another's
// executors have made.
TEST_F(TenantTableTest, AnAddressSharesCodeWithNobody) {
  EXPECT_EQ(tenants_.Of(AddressIdentity{"10.0.0.7"})->code_owner(), "");
  EXPECT_EQ(tenants_.Of(CertificateIdentity{.common_name = "c"})->code_owner(),
            "certificate c");
}

TEST_F(TenantTableTest, CountersGoOnInTheNextDaemonByTenant) {
  Policy policy;
  policy.tenants = {{.name = "team"}};
  policy.tenant_of.users[70] = 0;
  ASSERT_TRUE(tenants_.Apply(policy).ok());
  const auto team = tenants_.Of(User(70));
  const auto own = tenants_.Of(User(71));
  for (const auto& tenant : {team, own}) {
    for (const auto& totals : tenant->executions()) totals->NoteLost();
    tenant->compile_budget()->AddTime(absl::Seconds(3), absl::Now());
  }
  EXPECT_TRUE(team->device_bytes()->Take(1000).ok());
  internal::CountersRecord counters;
  tenants_.Record(&counters);
  TenantTable next;
  ASSERT_TRUE(next.Apply(policy).ok());
  next.Add(counters);
  EXPECT_EQ(next.Of(User(70))->execution().lost(), 1u);
  EXPECT_EQ(next.Of(User(70))->device_bytes()->peak(), 1000u);
  EXPECT_EQ(next.Of(User(70))->device_bytes()->used(), 0u);
  EXPECT_EQ(next.Of(User(70))->compile_budget()->total_time(),
            absl::Seconds(3));
  EXPECT_EQ(next.others().lost(), 1u);
  EXPECT_EQ(next.other_compiling().total_time(), absl::Seconds(3));
  // It has no session, so nothing remembers it.
  EXPECT_EQ(next.Of(User(71))->execution().lost(), 0u);
}

TEST_F(TenantTableTest, ATokenIsItsTenantUntilThatEnds) {
  const std::string token = *tenants_.Create(Request("job-1"));
  EXPECT_EQ(token.size(), 9u + 64u);
  const auto tenant = tenants_.OfToken(token);
  ASSERT_NE(tenant, nullptr);
  EXPECT_EQ(tenant->name(), "job-1");
  EXPECT_TRUE(tenant->temporary());
  std::string forged = token;
  forged.back() = forged.back() == '0' ? '1' : '0';
  EXPECT_EQ(tenants_.OfToken(forged), nullptr);
  EXPECT_EQ(tenants_.OfToken(""), nullptr);
  EXPECT_EQ(tenants_.OfToken(token + "0"), nullptr);
  ASSERT_TRUE(tenants_.BeginEnd("job-1").ok());
  EXPECT_EQ(tenants_.OfToken(token), nullptr);
}

TEST_F(TenantTableTest, ATenantOfThePolicyEndsWithItsLinesThere) {
  Policy policy;
  policy.tenants = {{.name = "vision"}};
  ASSERT_TRUE(tenants_.Apply(policy).ok());
  const absl::Status status = tenants_.BeginEnd("vision").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "vision is a tenant of the policy: remove it"))
      << status;
}

TEST_F(TenantTableTest, ANameIsFreeAgainOnlyWhenAllIsGone) {
  ASSERT_TRUE(tenants_.Create(Request("job-1")).ok());
  EXPECT_EQ(CodeOf(Request("job-1")), StatusCode::kAlreadyExists);
  const auto ending = *tenants_.BeginEnd("job-1");
  EXPECT_TRUE(ending->ending());
  EXPECT_EQ(CodeOf(Request("job-1")), StatusCode::kAlreadyExists);
  EXPECT_EQ(*tenants_.BeginEnd("job-1"), ending);
  tenants_.Forget(*ending);
  EXPECT_EQ(tenants_.BeginEnd("job-1").status().code(), StatusCode::kNotFound);
  const std::string token = *tenants_.Create(Request("job-1"));
  // One that ends late does not take the next one's name.
  tenants_.Forget(*ending);
  EXPECT_NE(tenants_.OfToken(token), nullptr);
  EXPECT_NE(tenants_.OfToken(token)->code_owner(), ending->code_owner());
}

TEST_F(TenantTableTest, AUserIsTheTenantThatWasMadeForItAndOneOnly) {
  v1::CreateTenantRequest request = Request("job-1");
  request.set_uid(7);
  ASSERT_TRUE(tenants_.Create(request).ok());
  EXPECT_EQ(tenants_.Of(User(7))->name(), "job-1");
  EXPECT_EQ(tenants_.Of(User(8))->name(), "uid 8");
  request.set_name("job-2");
  EXPECT_EQ(CodeOf(request), StatusCode::kAlreadyExists);
  ASSERT_TRUE(tenants_.BeginEnd("job-1").ok());
  EXPECT_EQ(tenants_.Of(User(7))->name(), "uid 7");
  EXPECT_EQ(CodeOf(request), StatusCode::kOk);
}

TEST_F(TenantTableTest, BadRequestsAreRefused) {
  for (const std::string& name :
       {std::string(), std::string("uid 7"), std::string("a/b"),
        std::string("\xff"), std::string(65, 'a'), std::string("a\0b", 3)}) {
    EXPECT_EQ(CodeOf(Request(name)), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(CodeOf(Request(std::string(64, 'a'))), StatusCode::kOk);
  v1::CreateTenantRequest twice = Request("twice");
  twice.add_devices(1);
  twice.add_devices(1);
  EXPECT_EQ(CodeOf(twice), StatusCode::kInvalidArgument);
  v1::CreateTenantRequest past = Request("past");
  past.mutable_lifetime()->set_nanos(-1);
  EXPECT_EQ(CodeOf(past), StatusCode::kInvalidArgument);
  v1::CreateTenantRequest heavy = Request("heavy");
  heavy.set_weight(1001);
  EXPECT_EQ(CodeOf(heavy), StatusCode::kInvalidArgument);
  heavy.set_weight(1000);
  EXPECT_EQ(CodeOf(heavy), StatusCode::kOk);
}

TEST_F(TenantTableTest, ManyTenantsAreRefusedAndManyClientsForgotten) {
  for (size_t i = 0; i < TenantTable::kMaxTemporary; ++i) {
    ASSERT_TRUE(tenants_.Create(Request(absl::StrCat("t", i))).ok());
  }
  EXPECT_EQ(CodeOf(Request("more")), StatusCode::kResourceExhausted);
  for (uid_t uid = 0; uid < 10'000; ++uid) tenants_.Of(User(uid));
  EXPECT_EQ(tenants_.List().size(), TenantTable::kMaxTemporary);
}

TEST_F(TenantTableTest, ANewPolicyKeepsWhatTenantsHold) {
  Policy policy;
  policy.tenants = {{.name = "a"}, {.name = "b"}};
  policy.tenant_of.users = {{1, 0}, {2, 1}};
  ASSERT_TRUE(tenants_.Apply(policy).ok());
  const auto a = tenants_.Of(User(1));
  const auto b = tenants_.Of(User(2));
  const Charge held = *a->device_bytes()->Take(10);
  policy.tenants = {{.name = "b"}, {.name = "a"}};
  policy.tenant_of.users = {{1, 1}};
  policy.tenants[1].quota.set_device_bytes(12);
  ASSERT_TRUE(tenants_.Apply(policy).ok());
  EXPECT_EQ(tenants_.Of(User(1)), a);
  EXPECT_FALSE(a->device_bytes()->Take(3).ok());
  EXPECT_TRUE(a->device_bytes()->Take(2).ok());
  EXPECT_EQ(tenants_.Of(User(2))->name(), "uid 2");
  // One that went and comes back, while somebody has it, is the same.
  ASSERT_TRUE(tenants_.Apply({}).ok());
  EXPECT_EQ(tenants_.List().size(), 2u);
  EXPECT_EQ(CodeOf(Request("a")), StatusCode::kAlreadyExists);
  ASSERT_TRUE(tenants_.Apply(policy).ok());
  EXPECT_EQ(tenants_.Of(User(1)), a);
}

TEST_F(TenantTableTest, AJobIsInAGroupOnlyIfThePolicyLetsItIn) {
  v1::CreateTenantRequest request = Request("job");
  request.set_shared_group("batch");
  EXPECT_EQ(CodeOf(request), StatusCode::kFailedPrecondition);
  const Concurrency batch = {.group = "batch", .thread_percentage = 25};
  Policy policy;
  policy.tenants = {{.name = "team", .concurrency = {.group = "closed"}}};
  policy.temporary_groups = {{"batch", batch}};
  ASSERT_TRUE(tenants_.Apply(policy).ok());
  request.set_shared_group("closed");
  EXPECT_EQ(CodeOf(request), StatusCode::kFailedPrecondition);
  request.set_shared_group("batch");
  const auto job = tenants_.OfToken(*tenants_.Create(request));
  EXPECT_EQ(job->concurrency(), batch);
  EXPECT_EQ(job->Info().shared_group(), "batch");
  EXPECT_EQ(tenants_.OfToken(*tenants_.Create(Request("alone")))->concurrency(),
            Concurrency());
  // It leaves a group that takes no jobs any more, and comes back to one.
  ASSERT_TRUE(tenants_.Apply({}).ok());
  EXPECT_EQ(job->concurrency(), Concurrency());
  ASSERT_TRUE(tenants_.Apply(policy).ok());
  EXPECT_EQ(job->concurrency(), batch);
}

TEST_F(TenantTableTest, AJobOfADaemonBeforeKeepsItsQuotaWithoutItsGroup) {
  internal::TenantRecord record;
  record.mutable_request()->set_name("job");
  record.mutable_request()->set_shared_group("gone");
  record.mutable_request()->mutable_quota()->set_sessions(3);
  ASSERT_TRUE(tenants_.Adopt(record).ok());
  const auto job = tenants_.OfName("job", "");
  EXPECT_EQ(job->concurrency(), Concurrency());
  EXPECT_EQ(job->quota().sessions(), 3u);
}

TEST_F(TenantTableTest, AQuotaThatIsSetHoldsForAJobWhenThePolicyIsRead) {
  const auto job = tenants_.OfToken(*tenants_.Create(Request("job")));
  v1::Quota quota;
  quota.set_sessions(3);
  ASSERT_TRUE(tenants_.SetQuota("job", quota).ok());
  ASSERT_TRUE(tenants_.Apply({}).ok());
  EXPECT_EQ(job->quota().sessions(), 3u);
}

TEST_F(TenantTableTest, AQuotaThatIsSetHoldsAtOnce) {
  const auto tenant = tenants_.OfToken(*tenants_.Create(Request("job")));
  const Charge held = *tenant->device_bytes()->Take(10);
  v1::Quota quota;
  quota.set_device_bytes(4);
  quota.set_sessions(1);
  EXPECT_TRUE(tenants_.SetQuota("job", quota).ok());
  EXPECT_FALSE(tenant->device_bytes()->Take(1).ok());
  EXPECT_FALSE(tenant->CheckMayOpen(1).ok());
  EXPECT_TRUE(tenants_.SetQuota("job", {}).ok());
  EXPECT_TRUE(tenant->device_bytes()->Take(1).ok());
  EXPECT_EQ(tenants_.SetQuota("uid 7", quota).code(), StatusCode::kNotFound);
  const absl::Time now = absl::Now();
  quota.set_compile_requests(1);
  EXPECT_TRUE(tenants_.SetQuota("job", quota).ok());
  const auto place = tenant->compile_budget()->Begin(now);
  EXPECT_FALSE(tenant->compile_budget()->Begin(now).ok());
  quota.mutable_compile_time()->set_seconds(-1);
  EXPECT_EQ(tenants_.SetQuota("job", quota).code(),
            StatusCode::kInvalidArgument);
}

class SharesTest : public TenantTableTest {
 protected:
  SharesTest() { shares_->AddDevices({{0, 100}, {1, 100}}); }

  const std::shared_ptr<DeviceShares> shares_ =
      std::make_shared<DeviceShares>();
  TenantTable divided_{shares_};
};

TEST_F(SharesTest, APolicyThatReservesMoreThanThereIsChangesNothing) {
  Policy policy;
  policy.tenants = {{.name = "a", .reserved_device_bytes = 60}};
  ASSERT_TRUE(divided_.Apply(policy).ok());
  policy.tenants.push_back({.name = "b",
                            .reserved_device_bytes = 50,
                            .devices = {1},
                            .reservation_place = "p.toml:9:1: "});
  const absl::Status refused = divided_.Apply(policy);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StartsWith(refused.message(), "p.toml:9:1: tenant b"))
      << refused;
  EXPECT_EQ(shares_->totals()[1].reserved, 60u);
  policy.tenants[1].reserved_device_bytes = 40;
  ASSERT_TRUE(divided_.Apply(policy).ok());
  EXPECT_EQ(shares_->totals()[1].reserved, 100u);
  EXPECT_EQ(shares_->totals()[0].reserved, 60u);
}

TEST_F(SharesTest, AJobsReservationEndsWithIt) {
  v1::CreateTenantRequest request = Request("job");
  request.set_reserved_device_bytes(70);
  request.add_devices(1);
  ASSERT_TRUE(divided_.Create(request).ok());
  request.set_name("job-2");
  EXPECT_EQ(divided_.Create(request).status().code(),
            StatusCode::kResourceExhausted);
  // One that is refused for another reason reserves nothing.
  request.set_name("job");
  request.set_reserved_device_bytes(1);
  EXPECT_EQ(divided_.Create(request).status().code(),
            StatusCode::kAlreadyExists);
  EXPECT_EQ(shares_->totals()[1].reserved, 70u);
  const auto ended = divided_.BeginEnd("job");
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ((*ended)->Info().reserved_device_bytes(), 70u);
  EXPECT_EQ(shares_->totals()[1].reserved, 70u);
  divided_.Forget(**ended);
  EXPECT_EQ(shares_->totals()[1].reserved, 0u);
  request.mutable_quota()->set_device_bytes(4);
  request.set_reserved_device_bytes(5);
  EXPECT_EQ(divided_.Create(request).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(SharesTest, WithoutOvercommitQuotasFitTheDevices) {
  Policy policy;
  policy.serves_unnamed = false;
  policy.overcommit = false;
  policy.tenants = {{.name = "a"}, {.name = "b", .devices = {1}}};
  policy.tenants[0].quota.set_device_bytes(100);  // 50 on each
  policy.tenants[1].quota.set_device_bytes(51);
  policy.tenants[1].place = "p.toml:5:1: ";
  const absl::Status refused = divided_.Apply(policy);
  EXPECT_TRUE(absl::StartsWith(refused.message(),
                               "p.toml:5:1: tenant b has, without overcommit, "
                               "a quota of 51 bytes of device 1"))
      << refused;
  policy.tenants[1].quota.set_device_bytes(40);
  ASSERT_TRUE(divided_.Apply(policy).ok());
  v1::CreateTenantRequest request = Request("job");
  EXPECT_EQ(divided_.Create(request).status().code(),
            StatusCode::kInvalidArgument);
  request.mutable_quota()->set_device_bytes(21);  // 11 on each
  EXPECT_EQ(divided_.Create(request).status().code(),
            StatusCode::kResourceExhausted);
  request.mutable_quota()->set_device_bytes(20);
  EXPECT_TRUE(divided_.Create(request).ok());
  v1::Quota quota;
  quota.set_device_bytes(41);
  EXPECT_EQ(divided_.SetQuota("b", quota).code(),
            StatusCode::kResourceExhausted);
  quota.set_device_bytes(39);
  EXPECT_TRUE(divided_.SetQuota("b", quota).ok());
}

TEST_F(TenantTableTest, NamesOfPolicyAndOfJobsDoNotMeet) {
  Policy policy;
  policy.tenants = {{.name = "a"}};
  ASSERT_TRUE(tenants_.Apply(policy).ok());
  EXPECT_EQ(CodeOf(Request("a")), StatusCode::kAlreadyExists);
  ASSERT_TRUE(tenants_.Create(Request("job")).ok());
  policy.tenants = {{.name = "job"}};
  EXPECT_EQ(tenants_.Apply(policy).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(CodeOf(Request("a")), StatusCode::kAlreadyExists);
}

TEST_F(TenantTableTest, ALifetimeEnds) {
  EXPECT_EQ(tenants_.next_end(), absl::InfiniteFuture());
  v1::CreateTenantRequest request = Request("short");
  request.mutable_lifetime()->set_seconds(100);
  ASSERT_TRUE(tenants_.Create(request).ok());
  ASSERT_TRUE(tenants_.Create(Request("long")).ok());
  const absl::Time end = tenants_.next_end();
  EXPECT_LE(end, absl::Now() + absl::Seconds(100));
  EXPECT_TRUE(tenants_.Expired(end - absl::Seconds(1)).empty());
  EXPECT_EQ(tenants_.Expired(end), (std::vector<std::string>{"short"}));
}

}  // namespace
}  // namespace holdfast
