// SPDX-License-Identifier: Apache-2.0
//
// The policy file of a real daemon: who is let in, and that a new file takes
// effect only if it is right. Connections over TCP are clients without a name.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/handle.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "tests/server/integration/policy_fixture.h"

namespace holdfast {
namespace {

// The variables that the executor of the only session was started with. Only
// root may look at a process that cannot be traced.
std::string ExecutorEnvironment(const ChannelPtr& channel) {
  grpc::ClientContext context;
  v1::ListSessionsResponse list;
  EXPECT_TRUE(v1::SessionService::NewStub(channel)
                  ->ListSessions(&context, {}, &list)
                  .ok());
  if (list.sessions_size() != 1) return "";
  std::stringstream text;
  text << std::ifstream(absl::StrCat("/proc/", list.sessions(0).executor_pid(),
                                     "/environ"))
              .rdbuf();
  return text.str();
}

TEST_F(PolicyTest, OnlyWhoIsNamedIsLetInAndANewFileTakesEffect) {
  const ChannelPtr unix = daemon_->Unix(), tcp = daemon_->Tcp();
  EXPECT_EQ(List(unix), StatusCode::OK);
  EXPECT_EQ(List(tcp), StatusCode::PERMISSION_DENIED);
  Write("unnamed = \"serve\"\n");
  kill(daemon_->pid(), SIGHUP);
  EXPECT_TRUE(Eventually([&] { return List(tcp) == StatusCode::OK; }));
}

TEST_F(PolicyTest, AWrongFileChangesNothing) {
  const ChannelPtr tcp = daemon_->Tcp();
  Write("unnamed = \"serve\"\nunnamed = 3\n");
  kill(daemon_->pid(), SIGHUP);
  // The audit log is opened again after the policy: a sign that it was read.
  std::filesystem::rename(audit(), audit() + ".1");
  kill(daemon_->pid(), SIGHUP);
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(audit()); }));
  EXPECT_EQ(List(tcp), StatusCode::PERMISSION_DENIED);
}

TEST_F(PolicyTest, RefusalsAndActsOfOperatorsAreInTheAuditLog) {
  const ChannelPtr unix = daemon_->Unix(), tcp = daemon_->Tcp();
  List(tcp);
  grpc::ClientContext context;
  v1::CreateTenantRequest request;
  request.set_name("job-1");
  v1::CreateTenantResponse response;
  ASSERT_TRUE(v1::AdminService::NewStub(unix)
                  ->CreateTenant(&context, request, &response)
                  .ok());
  const std::vector<std::string> lines = AuditLines(audit());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(absl::StrContains(lines[0], "\"client\":\"ip 127.0.0.1\""))
      << lines[0];
  EXPECT_TRUE(absl::StrContains(lines[0], "\"outcome\":\"PERMISSION_DENIED\""))
      << lines[0];
  EXPECT_TRUE(absl::StrContains(lines[1], "\"event\":\"CreateTenant\""))
      << lines[1];
  EXPECT_TRUE(absl::StrContains(lines[1], "\"object\":\"job-1\"")) << lines[1];
  EXPECT_FALSE(absl::StrContains(lines[1], response.token()));
}

TEST_F(PolicyTest, HugeNamesOfRefusedClientsAreCutInTheAuditLog) {
  const auto admin = v1::AdminService::NewStub(daemon_->Tcp());
  const std::string huge(size_t{40} << 20, 'x');
  v1::EndTenantRequest end;
  end.set_name(huge);
  v1::SetQuotaRequest quota;
  quota.set_tenant(huge.substr(0, 1000));
  v1::EndSessionRequest session;
  session.set_session_id(huge.substr(0, 1000));
  grpc::ClientContext contexts[3];
  v1::EndTenantResponse ended;
  v1::SetQuotaResponse set;
  v1::EndSessionResponse closed;
  EXPECT_EQ(admin->EndTenant(&contexts[0], end, &ended).error_code(),
            StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(admin->SetQuota(&contexts[1], quota, &set).error_code(),
            StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(admin->EndSession(&contexts[2], session, &closed).error_code(),
            StatusCode::PERMISSION_DENIED);
  const std::vector<std::string> lines = AuditLines(audit());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(absl::StrContains(lines[0], "xxx... (41943040 bytes)"));
  EXPECT_TRUE(absl::StrContains(lines[1], "xxx... (1000 bytes)"));
  EXPECT_TRUE(absl::StrContains(lines[2], "xxx... (1000 bytes)"));
  for (const std::string& line : lines) EXPECT_LT(line.size(), 1000u);
}

// The software device runs all executors' kernels at the same time anyway.
TEST_F(PolicyTest, ExecutorsOfAGroupAreClientsOfItsMpsServer) {
  Write(absl::StrCat(R"(
[groups.inference]
concurrency = "shared"
[tenants.team]
users = [)",
                     geteuid(), R"(]
group = "inference"
thread-percentage = 25
stream-priorities = "high"
)"));
  daemon_ = std::make_unique<DaemonProcess>(
      std::vector<std::string>{"--policy=" + policy()});
  const ChannelPtr unix = daemon_->Unix();
  TestSession session(unix, "shared", 0, v1::RECOVERY_POLICY_ALWAYS);
  EXPECT_EQ(session.opened().tenant(), "team");
  const bool readable = geteuid() == 0;
  if (readable) {
    const std::string variables = ExecutorEnvironment(unix);
    EXPECT_TRUE(
        absl::StrContains(variables, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25"));
    EXPECT_TRUE(absl::StrContains(variables, "/holdfast-mps-inference/pipe"));
  }
  EXPECT_TRUE(session.Run(unix).ok());
  grpc::ClientContext context;
  v1::ListTenantsResponse tenants;
  ASSERT_TRUE(v1::AdminService::NewStub(unix)
                  ->ListTenants(&context, {}, &tenants)
                  .ok());
  ASSERT_EQ(tenants.tenants_size(), 1);
  EXPECT_EQ(tenants.tenants(0).shared_group(), "inference");
  EXPECT_EQ(tenants.tenants(0).stream_priorities(),
            v1::STREAM_PRIORITY_CLASS_HIGH);
  // Sessions that are opened from now on have contexts of their own.
  Write(absl::StrCat("[tenants.team]\nusers = [", geteuid(), "]\n"));
  kill(daemon_->pid(), SIGHUP);
  EXPECT_TRUE(Eventually([&] {
    grpc::ClientContext again;
    v1::ListTenantsResponse list;
    return v1::AdminService::NewStub(unix)
               ->ListTenants(&again, {}, &list)
               .ok() &&
           list.tenants(0).shared_group().empty();
  }));
  EXPECT_TRUE(session.Close().ok());
  TestSession other(unix);
  if (readable) {
    const std::string variables = ExecutorEnvironment(unix);
    EXPECT_FALSE(variables.empty());
    EXPECT_FALSE(absl::StrContains(variables, "CUDA_MPS_ACTIVE")) << variables;
  }
}

// Returns the error of an export by an IPC handle. There is no such buffer.
v1::Error IpcExportError(const ChannelPtr& channel,
                         const TestSession& session) {
  v1::CommandBatch batch;
  batch.set_first_sequence(1);
  v1::ExportResource& command =
      *batch.add_commands()->mutable_export_resource();
  command.set_resource(Handle{HandleKind::kBuffer, 1, 0}.Pack());
  command.set_foreign(v1::FOREIGN_HANDLE_IPC);
  batch.add_commands()->mutable_fence()->set_all_streams(true);
  grpc::ClientContext context;
  session.AddToken(&context);
  v1::ResultBatch results;
  const grpc::Status status =
      v1::CommandService::NewStub(channel)->Run(&context, batch, &results);
  EXPECT_TRUE(status.ok()) << Text(status);
  for (const v1::Result& result : results.results()) {
    if (result.has_error()) return result.error();
  }
  return {};
}

// A process that has opened the handle keeps the memory, as it does with a
// descriptor.
TEST_F(PolicyTest, ForeignExportsAreRefusedByIpcHandlesToo) {
  const ChannelPtr unix = daemon_->Unix();
  TestSession allowed(unix);
  EXPECT_EQ(IpcExportError(unix, allowed).code(), StatusCode::NOT_FOUND);
  Write("unnamed = \"serve\"\nforeign-exports = false\n");
  daemon_ = std::make_unique<DaemonProcess>(
      std::vector<std::string>{"--policy=" + policy()});
  const ChannelPtr again = daemon_->Unix();
  TestSession refused(again);
  const v1::Error error = IpcExportError(again, refused);
  EXPECT_EQ(error.code(), StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(absl::StrContains(error.message(), "foreign-exports = false"))
      << error.message();
}

TEST_F(PolicyTest, AJobSharesAnMpsServerIfThePolicyLetsIt) {
  Write(R"(
[groups.batch]
concurrency = "shared"
thread-percentage = 10
temporary-tenants = true
[groups.closed]
concurrency = "shared"
)");
  daemon_ = std::make_unique<DaemonProcess>(
      std::vector<std::string>{"--policy=" + policy()});
  const ChannelPtr unix = daemon_->Unix();
  const auto admin = v1::AdminService::NewStub(unix);
  v1::CreateTenantRequest request;
  request.set_name("job");
  request.set_shared_group("closed");
  v1::CreateTenantResponse created;
  {
    grpc::ClientContext context;
    const grpc::Status refused =
        admin->CreateTenant(&context, request, &created);
    EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION);
    EXPECT_TRUE(absl::StrContains(refused.error_message(), "group 'closed'"))
        << Text(refused);
  }
  request.set_shared_group("batch");
  grpc::ClientContext context;
  ASSERT_TRUE(admin->CreateTenant(&context, request, &created).ok());
  const ChannelPtr job = WithToken(created.token());
  TestSession session(job);
  EXPECT_EQ(session.opened().tenant(), "job");
  EXPECT_TRUE(session.Run(job).ok());
  grpc::ClientContext listing;
  v1::ListTenantsResponse tenants;
  ASSERT_TRUE(
      v1::AdminService::NewStub(job)->ListTenants(&listing, {}, &tenants).ok());
  ASSERT_EQ(tenants.tenants_size(), 1);
  EXPECT_EQ(tenants.tenants(0).shared_group(), "batch");
  if (geteuid() == 0) {
    EXPECT_TRUE(absl::StrContains(ExecutorEnvironment(job),
                                  "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=10"));
  }
}

TEST_F(PolicyTest, AnActIsWrittenWithHowItEnded) {
  const auto admin = v1::AdminService::NewStub(daemon_->Unix());
  v1::EndTenantRequest end;
  end.set_name("nobody");
  grpc::ClientContext first, second;
  v1::EndTenantResponse ended;
  EXPECT_EQ(admin->EndTenant(&first, end, &ended).error_code(),
            StatusCode::NOT_FOUND);
  end.set_reason(std::string(257, 'x'));
  EXPECT_EQ(admin->EndTenant(&second, end, &ended).error_code(),
            StatusCode::INVALID_ARGUMENT);
  const std::vector<std::string> lines = AuditLines(audit());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(absl::StrContains(lines[0], "\"outcome\":\"NOT_FOUND\""))
      << lines[0];
  EXPECT_TRUE(absl::StrContains(lines[1], "\"outcome\":\"INVALID_ARGUMENT\""))
      << lines[1];
}

TEST_F(PolicyTest, ReloadsAndSessionsAreInTheAuditLog) {
  Write("unnamed = 3\n");
  kill(daemon_->pid(), SIGHUP);
  ASSERT_TRUE(Eventually([&] { return AuditLines(audit()).size() == 1; }));
  const std::string reload = AuditLines(audit())[0];
  EXPECT_TRUE(absl::StrContains(reload, "\"event\":\"Reload\"")) << reload;
  EXPECT_TRUE(absl::StrContains(reload, "\"client\":\"SIGHUP\"")) << reload;
  EXPECT_TRUE(absl::StrContains(reload, "INVALID_ARGUMENT")) << reload;
  const TestSession session(daemon_->Unix());
  const std::vector<std::string> lines = AuditLines(audit());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(absl::StrContains(
      lines[1], absl::StrCat("\"event\":\"OpenSession\",\"object\":\"",
                             session.opened().session_id(), "\"")))
      << lines[1];
}

TEST_F(PolicyTest, ARefusedClientLearnsNothingOfTheDaemon) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  EXPECT_EQ(v1::AdminService::NewStub(daemon_->Tcp())
                ->GetServerInfo(&context, {}, &info)
                .error_code(),
            StatusCode::PERMISSION_DENIED);
}

// The socket that is mounted into containers: root in one of them is the root
// of the kernel's answer, and of the daemon's own user.
TEST_F(PolicyTest, UsersAreOperatorsOnTheOperatorsSocketAlone) {
  const std::string own = directory_ + "/operators/holdfast.sock";
  const DaemonProcess daemon({"--policy=" + policy(),
                              "--operator-socket=" + own,
                              "--socket-mode=0666"});
  const ChannelPtr operators = Connect("unix:" + own), shared = daemon.Unix();
  const auto create = [](const ChannelPtr& channel, const std::string& name) {
    grpc::ClientContext context;
    v1::CreateTenantRequest request;
    request.set_name(name);
    v1::CreateTenantResponse response;
    return v1::AdminService::NewStub(channel)->CreateTenant(&context, request,
                                                            &response);
  };
  EXPECT_EQ(List(shared), StatusCode::PERMISSION_DENIED);
  const grpc::Status refused = create(shared, "mine");
  EXPECT_EQ(refused.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(List(operators), StatusCode::OK);
  const grpc::Status made = create(operators, "job");
  EXPECT_TRUE(made.ok()) << Text(made);
  namespace fs = std::filesystem;
  EXPECT_EQ(fs::status(own).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(directory_ + "/operators").permissions(),
            fs::perms::owner_all);
}

TEST_F(PolicyTest, AFloodOfRefusalsDoesNotFillTheDisk) {
  const ChannelPtr tcp = daemon_->Tcp();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(List(tcp), StatusCode::PERMISSION_DENIED);
  }
  EXPECT_LT(AuditLines(audit()).size(), 900u);
  EXPECT_EQ(List(daemon_->Unix()), StatusCode::OK);
}

TEST_F(PolicyTest, ReservationsAreOfTheRealDevices) {
  // The software device has 256 MiB.
  Write("unnamed = \"serve\"\n[tenants.team]\nreserved-memory = \"1GiB\"\n");
  const ChannelPtr tcp = daemon_->Tcp();
  kill(daemon_->pid(), SIGHUP);
  std::filesystem::rename(audit(), audit() + ".1");
  kill(daemon_->pid(), SIGHUP);
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(audit()); }));
  EXPECT_EQ(List(tcp), StatusCode::PERMISSION_DENIED);
  Write("unnamed = \"serve\"\n[tenants.team]\nreserved-memory = \"100MiB\"\n");
  kill(daemon_->pid(), SIGHUP);
  EXPECT_TRUE(Eventually([&] { return List(tcp) == StatusCode::OK; }));
  grpc::ClientContext context;
  v1::ListTenantsResponse tenants;
  ASSERT_TRUE(v1::AdminService::NewStub(daemon_->Unix())
                  ->ListTenants(&context, {}, &tenants)
                  .ok());
  uint64_t reserved = 0;
  for (const v1::TenantInfo& tenant : tenants.tenants()) {
    reserved += tenant.reserved_device_bytes();
  }
  EXPECT_EQ(reserved, uint64_t{100} << 20);
}

}  // namespace
}  // namespace holdfast
