// SPDX-License-Identifier: Apache-2.0
//
// Tenants through the real daemon: who is which, what their sessions may hold
// together, and that nothing is left of one that has ended.
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "client/cpp/connection/bearer_token.h"
#include "core/base/handle.h"
#include "core/base/quota_exceeded.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "holdfast/v1/collections.grpc.pb.h"
#include "holdfast/v1/devices.grpc.pb.h"
#include "holdfast/v1/objects.grpc.pb.h"
#include "server/rpc/status_conversion.h"
#include "tests/server/integration/daemon_fixture.h"

namespace holdfast {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

class TenantsTest : public DaemonTest {
 protected:
  // A connection whose calls carry the token.
  ChannelPtr WithToken(const std::string& token) {
    std::vector<
        std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
        interceptors;
    interceptors.push_back(SendToken(token));
    return grpc::experimental::CreateCustomChannelWithInterceptors(
        "unix:" + daemon_.socket(), grpc::InsecureChannelCredentials(), {},
        std::move(interceptors));
  }

  grpc::Status Create(const ChannelPtr& channel,
                      const v1::CreateTenantRequest& request,
                      std::string* token) {
    grpc::ClientContext context;
    v1::CreateTenantResponse response;
    const grpc::Status status =
        v1::AdminService::NewStub(channel)->CreateTenant(&context, request,
                                                         &response);
    *token = response.token();
    return status;
  }

  // Returns a connection of the new tenant.
  ChannelPtr NewTenant(const std::string& name, const v1::Quota& quota) {
    v1::CreateTenantRequest request;
    request.set_name(name);
    *request.mutable_quota() = quota;
    const grpc::Status status = Create(unix_, request, &token_);
    EXPECT_TRUE(status.ok()) << Text(status);
    return WithToken(token_);
  }

  grpc::Status End(const ChannelPtr& channel, const std::string& name,
                   v1::TenantInfo* info = nullptr) {
    grpc::ClientContext context;
    v1::EndTenantRequest request;
    request.set_name(name);
    request.set_reason("the job is over");
    v1::EndTenantResponse response;
    const grpc::Status status = v1::AdminService::NewStub(channel)->EndTenant(
        &context, request, &response);
    if (info != nullptr) *info = response.final();
    return status;
  }

  std::vector<v1::TenantInfo> Tenants(const ChannelPtr& channel) {
    grpc::ClientContext context;
    v1::ListTenantsResponse response;
    const grpc::Status status = v1::AdminService::NewStub(channel)->ListTenants(
        &context, {}, &response);
    EXPECT_TRUE(status.ok()) << Text(status);
    return {response.tenants().begin(), response.tenants().end()};
  }

  v1::TenantInfo InfoOf(const std::string& name) {
    for (const v1::TenantInfo& tenant : Tenants(unix_)) {
      if (tenant.name() == name) return tenant;
    }
    return {};
  }

  size_t CountSessions(const ChannelPtr& channel) {
    grpc::ClientContext context;
    v1::ListSessionsResponse response;
    EXPECT_TRUE(v1::SessionService::NewStub(channel)
                    ->ListSessions(&context, {}, &response)
                    .ok());
    return static_cast<size_t>(response.sessions_size());
  }

  static grpc::Status Open(const ChannelPtr& channel) {
    grpc::ClientContext context;
    v1::OpenSessionRequest request;
    request.set_protocol_version(1);
    v1::OpenSessionResponse response;
    return v1::SessionService::NewStub(channel)->OpenSession(&context, request,
                                                             &response);
  }

  // Allocates a buffer on device 0, or on the host.
  static absl::Status Allocate(const ChannelPtr& channel, TestSession& session,
                               uint32_t buffer, uint64_t size,
                               bool host = false) {
    v1::CommandBatch batch;
    batch.set_first_sequence(2 * buffer + 1);
    v1::AllocateBuffer& allocate =
        *batch.add_commands()->mutable_allocate_buffer();
    allocate.set_buffer(Handle{HandleKind::kBuffer, 1, buffer}.Pack());
    allocate.set_size(size);
    if (host) {
      allocate.mutable_host();
    } else {
      allocate.set_device(0);
    }
    batch.add_commands()->mutable_fence()->set_all_streams(true);
    grpc::ClientContext context;
    session.AddToken(&context);
    v1::ResultBatch results;
    const grpc::Status status =
        v1::CommandService::NewStub(channel)->Run(&context, batch, &results);
    if (!status.ok()) return FromGrpcStatus(status);
    for (const v1::Result& result : results.results()) {
      if (result.has_error()) return FromError(result.error());
    }
    return absl::OkStatus();
  }

  static grpc::Status SetQuota(const ChannelPtr& channel,
                               const v1::SetQuotaRequest& request) {
    grpc::ClientContext context;
    v1::SetQuotaResponse response;
    return v1::AdminService::NewStub(channel)->SetQuota(&context, request,
                                                        &response);
  }
  static grpc::Status SetQuota(const ChannelPtr& channel,
                               const std::string& tenant,
                               const v1::Quota& quota) {
    v1::SetQuotaRequest request;
    request.set_tenant(tenant);
    *request.mutable_quota() = quota;
    return SetQuota(channel, request);
  }

  static void ExpectExceeded(const absl::Status& status,
                             const QuotaExceeded& exceeded) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_EQ(GetQuotaExceeded(status), exceeded) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), exceeded.quota)) << status;
  }

  bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(10));
    }
    return false;
  }

  std::string token_;  // of the last NewTenant
};

TEST_F(TenantsTest, ATokensSessionsAreItsTenantsAndSeenByNobodyElse) {
  const ChannelPtr a = NewTenant("a", {});
  const ChannelPtr b = NewTenant("b", {});
  const TestSession session_a(a), session_b(b), own(unix_);
  EXPECT_EQ(session_a.opened().tenant(), "a");
  EXPECT_TRUE(absl::StartsWith(own.opened().tenant(), "uid "));
  EXPECT_EQ(CountSessions(a), 1u);
  EXPECT_EQ(CountSessions(b), 1u);
  EXPECT_EQ(CountSessions(unix_), 3u);
  ASSERT_EQ(Tenants(a).size(), 1u);
  EXPECT_EQ(Tenants(a)[0].name(), "a");
  EXPECT_EQ(Tenants(a)[0].sessions(), 1u);
  EXPECT_EQ(Tenants(unix_).size(), 3u);
}

TEST_F(TenantsTest, BytesOfAllSessionsTogetherAreExact) {
  v1::Quota quota;
  quota.set_device_bytes(3 * kMiB);
  quota.set_pinned_bytes(kMiB);
  const ChannelPtr job = NewTenant("job", quota);
  TestSession a(job), b(job);
  EXPECT_TRUE(Allocate(job, a, 0, 2 * kMiB).ok());
  EXPECT_TRUE(Allocate(job, b, 0, kMiB - 1).ok());
  ExpectExceeded(Allocate(job, b, 1, 2),
                 {.quota = "device-memory of tenant job",
                  .limit = 3 * kMiB,
                  .used = 3 * kMiB - 1,
                  .requested = 2});
  EXPECT_TRUE(Allocate(job, b, 2, 1).ok());
  EXPECT_EQ(InfoOf("job").device_bytes(), 3 * kMiB);
  EXPECT_TRUE(Allocate(job, a, 3, kMiB, /*host=*/true).ok());
  ExpectExceeded(Allocate(job, b, 4, 1, /*host=*/true),
                 {.quota = "pinned-memory of tenant job",
                  .limit = kMiB,
                  .used = kMiB,
                  .requested = 1});
  // Another tenant has none of that limit.
  TestSession other(unix_);
  EXPECT_TRUE(Allocate(unix_, other, 0, 8 * kMiB).ok());
}

TEST_F(TenantsTest, NobodyTakesWhatIsReservedForAJob) {
  v1::CreateTenantRequest request;
  request.set_name("job");
  request.set_reserved_device_bytes(200 * kMiB);
  ASSERT_TRUE(Create(unix_, request, &token_).ok());
  const ChannelPtr job = WithToken(token_);
  EXPECT_EQ(InfoOf("job").reserved_device_bytes(), 200 * kMiB);
  // The software device has 256 MiB.
  TestSession other(unix_);
  const absl::Status refused = Allocate(unix_, other, 0, 100 * kMiB);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(),
                                "209715200 more are reserved for other"))
      << refused;
  EXPECT_TRUE(Allocate(unix_, other, 1, 50 * kMiB).ok());
  request.set_name("job-2");
  std::string token;
  EXPECT_EQ(Create(unix_, request, &token).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
  TestSession own(job);
  EXPECT_TRUE(Allocate(job, own, 0, 190 * kMiB).ok());
  ASSERT_TRUE(End(unix_, "job").ok());
  EXPECT_TRUE(Allocate(unix_, other, 2, 150 * kMiB).ok());
}

TEST_F(TenantsTest, CompilationsOfATenantAreBounded) {
  v1::Quota quota;
  quota.mutable_compile_time()->set_nanos(1);
  const ChannelPtr job = NewTenant("job", quota);
  const auto compile = [](const ChannelPtr& channel,
                          const std::string& source) {
    grpc::ClientContext context;
    v1::CompileRequest request;
    request.set_name("a.cu");
    request.set_source(source);
    request.set_language(v1::SOURCE_LANGUAGE_CUDA_CPP);
    v1::CompileResponse response;
    return v1::CompileService::NewStub(channel)->Compile(&context, request,
                                                         &response);
  };
  const std::string first = "__global__ void first() {}";
  const std::string second = "__global__ void second() {}";
  const grpc::Status begun = compile(job, first);
  if (begun.error_code() == StatusCode::UNAVAILABLE) {
    GTEST_SKIP() << "no compiler: " << Text(begun);
  }
  ASSERT_TRUE(begun.ok()) << Text(begun);
  const v1::TenantInfo info = InfoOf("job");
  EXPECT_GT(info.compile_time().seconds() + info.compile_time().nanos(), 0);
  const grpc::Status refused = compile(job, second);
  EXPECT_EQ(refused.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(absl::StrContains(refused.error_message(),
                                "compile-seconds of tenant job"))
      << Text(refused);
  // The cache's hits are free, and another tenant has a quota of its own.
  EXPECT_TRUE(compile(job, first).ok());
  EXPECT_TRUE(compile(unix_, second).ok());
  EXPECT_TRUE(compile(job, second).ok());
}

TEST_F(TenantsTest, ATenantHasItsBytesBackHoweverASessionEnds) {
  v1::Quota quota;
  quota.set_device_bytes(2 * kMiB);
  quota.set_sessions(2);
  const ChannelPtr job = NewTenant("job", quota);
  for (const bool killed : {false, true}) {
    TestSession session(job);
    ASSERT_TRUE(Allocate(job, session, 0, 2 * kMiB).ok());
    if (killed) {
      kill(ExecutorPid(session), SIGKILL);
    } else {
      EXPECT_TRUE(session.Close().ok());
    }
    EXPECT_TRUE(Eventually([&] { return InfoOf("job").device_bytes() == 0; }));
  }
  TestSession next(job);
  EXPECT_TRUE(Allocate(job, next, 0, 2 * kMiB).ok());
}

TEST_F(TenantsTest, AQuotaThatIsSetHoldsForOpenSessions) {
  const ChannelPtr job = NewTenant("job", {});
  TestSession session(job);
  ASSERT_TRUE(Allocate(job, session, 0, 2 * kMiB).ok());
  v1::SetQuotaRequest request;
  request.set_tenant("job");
  request.mutable_quota()->set_device_bytes(kMiB);
  EXPECT_EQ(SetQuota(job, request).error_code(), StatusCode::PERMISSION_DENIED);
  ASSERT_TRUE(SetQuota(unix_, request).ok());
  EXPECT_FALSE(Allocate(job, session, 1, 1).ok());
  request.mutable_quota()->set_device_bytes(3 * kMiB);
  ASSERT_TRUE(SetQuota(unix_, request).ok());
  EXPECT_TRUE(Allocate(job, session, 2, kMiB).ok());
}

TEST_F(TenantsTest, HandlesOfAllSessionsTogetherAreBounded) {
  v1::Quota quota;
  quota.set_handles(3);
  const ChannelPtr job = NewTenant("job", quota);
  TestSession a(job), b(job);
  EXPECT_TRUE(Allocate(job, a, 0, 1).ok());
  EXPECT_TRUE(Allocate(job, a, 1, 1).ok());
  EXPECT_TRUE(Allocate(job, b, 0, 1).ok());
  ExpectExceeded(Allocate(job, b, 1, 1),
                 {.quota = "buffer handles of tenant job",
                  .limit = 3,
                  .used = 3,
                  .requested = 1});
  // A new limit holds at once.
  quota.set_handles(4);
  EXPECT_TRUE(SetQuota(unix_, "job", quota).ok());
  EXPECT_TRUE(Allocate(job, b, 2, 1).ok());
  EXPECT_FALSE(Allocate(job, b, 3, 1).ok());
  EXPECT_TRUE(a.Close().ok());
  EXPECT_TRUE(Allocate(job, b, 4, 1).ok());
  // A batch that could never be taken is refused, and one that fits is not.
  quota.set_outstanding_commands(1);
  EXPECT_TRUE(SetQuota(unix_, "job", quota).ok());
  TestSession c(job);
  EXPECT_TRUE(c.Run(job).ok());
  const absl::Status refused = Allocate(job, b, 5, 1);
  ExpectExceeded(refused, {.quota = "outstanding commands of tenant job",
                           .limit = 1,
                           .used = 0,
                           .requested = 2});
}

TEST_F(TenantsTest, ASuccessorHasItsHandlesWhateverTheQuotaIsNow) {
  const ChannelPtr job = NewTenant("job", {});
  TestSession session(job, "", 0, v1::RECOVERY_POLICY_ALWAYS);
  ASSERT_TRUE(Allocate(job, session, 0, kMiB).ok());
  ASSERT_TRUE(Allocate(job, session, 1, kMiB).ok());
  v1::Quota quota;
  quota.set_handles(1);
  quota.set_device_bytes(1);
  EXPECT_TRUE(SetQuota(unix_, "job", quota).ok());
  v1::SetQuotaRequest of_session;
  of_session.set_session_id(session.opened().session_id());
  of_session.mutable_quota()->set_device_bytes(kMiB);
  EXPECT_TRUE(SetQuota(unix_, of_session).ok());
  kill(ExecutorPid(session), SIGKILL);
  v1::AcknowledgeFaultResponse response;
  ASSERT_TRUE(
      Eventually([&] { return session.Acknowledge(1, &response).ok(); }));
  EXPECT_EQ(response.fault().lost_count(), 0u);
  const v1::SessionUsage usage = Sessions().sessions(0).usage();
  EXPECT_EQ(usage.device_bytes().used(), 2 * kMiB);
  // The session's quota holds in its next executor, too.
  EXPECT_EQ(usage.device_bytes().limit(), kMiB);
  EXPECT_EQ(InfoOf("job").faults(), 1u);
  EXPECT_EQ(InfoOf("job").recoveries(), 1u);
}

TEST_F(TenantsTest, AQuotaOfOneSessionHoldsForItAlone) {
  const ChannelPtr job = NewTenant("job", {});
  TestSession a(job), b(job);
  ASSERT_TRUE(Allocate(job, a, 0, 2 * kMiB).ok());
  v1::SetQuotaRequest request;
  request.set_session_id(a.opened().session_id());
  request.mutable_quota()->set_device_bytes(kMiB);
  request.mutable_quota()->set_handles(2);
  EXPECT_EQ(SetQuota(job, request).error_code(), StatusCode::PERMISSION_DENIED);
  ASSERT_TRUE(SetQuota(unix_, request).ok());
  const absl::Status refused = Allocate(job, a, 1, 1);
  ExpectExceeded(refused, {.quota = "device memory of the session",
                           .limit = kMiB,
                           .used = 2 * kMiB,
                           .requested = 1});
  EXPECT_TRUE(absl::StrContains(refused.message(), "the session's quota"));
  EXPECT_TRUE(Allocate(job, b, 0, 2 * kMiB).ok());
  const v1::SessionUsage usage = Sessions().sessions(0).usage();
  EXPECT_EQ(usage.device_bytes().limit(), kMiB);
  ASSERT_GT(usage.handles_size(), 0);
  EXPECT_EQ(usage.handles(0).handles().limit(), 2u);
  request.mutable_quota()->set_sessions(1);
  EXPECT_EQ(SetQuota(unix_, request).error_code(),
            StatusCode::INVALID_ARGUMENT);
  request.set_session_id("s-4711");
  EXPECT_EQ(SetQuota(unix_, request).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(TenantsTest, EntriesOfTheCacheAreSeenByTheirTenantAndOperators) {
  const ChannelPtr a = NewTenant("a", {});
  const ChannelPtr b = NewTenant("b", {});
  grpc::ClientContext context;
  v1::CompileRequest request;
  request.set_name("secret.cu");
  request.set_source("__global__ void secret() {}");
  request.set_language(v1::SOURCE_LANGUAGE_CUDA_CPP);
  v1::CompileResponse response;
  const grpc::Status compiled =
      v1::CompileService::NewStub(a)->Compile(&context, request, &response);
  if (compiled.error_code() == StatusCode::UNAVAILABLE) {
    GTEST_SKIP() << "no compiler: " << Text(compiled);
  }
  ASSERT_TRUE(compiled.ok()) << Text(compiled);
  const auto list = [](const ChannelPtr& channel) {
    grpc::ClientContext list_context;
    v1::ListCacheEntriesResponse entries;
    EXPECT_TRUE(v1::AdminService::NewStub(channel)
                    ->ListCacheEntries(&list_context, {}, &entries)
                    .ok());
    return entries;
  };
  for (const ChannelPtr& channel : {a, unix_}) {
    ASSERT_EQ(list(channel).entries_size(), 1);
    EXPECT_EQ(list(channel).entries(0).name(), "secret.cu");
    EXPECT_EQ(list(channel).entries(0).owner(), "a");
  }
  EXPECT_EQ(list(b).entries_size(), 0);
  // An address is nobody's, and a later tenant of the name is another one.
  EXPECT_EQ(list(tcp_).entries_size(), 0);
  ASSERT_TRUE(End(unix_, "a").ok());
  EXPECT_EQ(list(NewTenant("a", {})).entries_size(), 0);
}

TEST_F(TenantsTest, SessionsOfATenantAreBounded) {
  v1::Quota quota;
  quota.set_sessions(1);
  const ChannelPtr job = NewTenant("job", quota);
  TestSession session(job);
  const grpc::Status refused = Open(job);
  EXPECT_EQ(refused.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  ExpectExceeded(FromGrpcStatus(refused), {.quota = "sessions of tenant job",
                                           .limit = 1,
                                           .used = 1,
                                           .requested = 1});
  EXPECT_TRUE(Open(unix_).ok());
  ASSERT_TRUE(session.Close().ok());
  EXPECT_TRUE(Open(job).ok());
}

TEST_F(TenantsTest, NothingIsLeftOfATenantThatEnds) {
  const ChannelPtr job = NewTenant("job", {});
  TestSession a(job), b(job);
  ASSERT_TRUE(Allocate(job, a, 0, 5 * kMiB).ok());
  const pid_t executor = ExecutorPid(a);
  v1::TenantInfo final;
  const grpc::Status ended = End(unix_, "job", &final);
  ASSERT_TRUE(ended.ok()) << Text(ended);
  EXPECT_EQ(final.name(), "job");
  EXPECT_EQ(final.peak_device_bytes(), 5 * kMiB);
  EXPECT_EQ(final.device_bytes(), 0u);
  EXPECT_EQ(a.AwaitEnd(), "the job is over");
  EXPECT_EQ(kill(executor, 0), -1);
  EXPECT_EQ(CountSessions(unix_), 0u);
  EXPECT_EQ(Open(job).error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(End(unix_, "job").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(NewTenant("job", {}) == nullptr, false);
}

TEST_F(TenantsTest, ATenantsLifetimeEndsIt) {
  v1::CreateTenantRequest request;
  request.set_name("short");
  request.mutable_lifetime()->set_seconds(2);
  ASSERT_TRUE(Create(unix_, request, &token_).ok());
  TestSession session(WithToken(token_));
  EXPECT_EQ(session.AwaitEnd(), "its lifetime is over");
  EXPECT_TRUE(Eventually([&] { return InfoOf("short").name().empty(); }));
}

TEST_F(TenantsTest, AdministrationIsForOperators) {
  const ChannelPtr job = NewTenant("job", {});
  for (const ChannelPtr& channel : {tcp_, job}) {
    std::string token;
    v1::CreateTenantRequest request;
    request.set_name("mine");
    EXPECT_EQ(Create(channel, request, &token).error_code(),
              StatusCode::PERMISSION_DENIED);
    EXPECT_EQ(End(channel, "job").error_code(), StatusCode::PERMISSION_DENIED);
    const auto admin = v1::AdminService::NewStub(channel);
    grpc::ClientContext clear;
    v1::ClearCacheResponse cleared;
    EXPECT_EQ(admin->ClearCache(&clear, {}, &cleared).error_code(),
              StatusCode::PERMISSION_DENIED);
  }
}

TEST_F(TenantsTest, AWrongTokenIsRefusedByEachService) {
  const ChannelPtr bad = WithToken("holdfast-00");
  EXPECT_EQ(Open(bad).error_code(), StatusCode::UNAUTHENTICATED);
  const auto code = [](auto call) {
    grpc::ClientContext context;
    return call(&context).error_code();
  };
  const auto devices = v1::DeviceService::NewStub(bad);
  EXPECT_EQ(code([&](grpc::ClientContext* context) {
              v1::ListDevicesResponse response;
              return devices->ListDevices(context, {}, &response);
            }),
            StatusCode::UNAUTHENTICATED);
  const auto compiler = v1::CompileService::NewStub(bad);
  EXPECT_EQ(code([&](grpc::ClientContext* context) {
              v1::CompileResponse response;
              return compiler->Compile(context, {}, &response);
            }),
            StatusCode::UNAUTHENTICATED);
  const auto objects = v1::ObjectService::NewStub(bad);
  EXPECT_EQ(code([&](grpc::ClientContext* context) {
              v1::HasObjectsResponse response;
              return objects->HasObjects(context, {}, &response);
            }),
            StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(code([&](grpc::ClientContext* context) {
              v1::GetObjectResponse response;
              const auto stream = objects->GetObject(context, {});
              EXPECT_FALSE(stream->Read(&response));
              return stream->Finish();
            }),
            StatusCode::UNAUTHENTICATED);
  const auto collections = v1::CollectionService::NewStub(bad);
  EXPECT_EQ(code([&](grpc::ClientContext* context) {
              v1::ListCollectionsResponse response;
              return collections->ListCollections(context, {}, &response);
            }),
            StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(code([&](grpc::ClientContext* context) {
              v1::CollectionChange response;
              const auto stream = collections->WatchCollections(context, {});
              EXPECT_FALSE(stream->Read(&response));
              return stream->Finish();
            }),
            StatusCode::UNAUTHENTICATED);
}

}  // namespace
}  // namespace holdfast
