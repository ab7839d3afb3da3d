// SPDX-License-Identifier: Apache-2.0
//
// The policy file of a real daemon: who is let in, and that a new file takes
// effect only if it is right. Connections over TCP are clients without a name.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/cpp/connection/bearer_token.h"
#include "core/base/sanitizer.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "holdfast/v1/compile.grpc.pb.h"
#include "proto/metadata.h"
#include "server/tenants/policy_file.h"
#include "tests/fuzz/engine/byte_mutator.h"
#include "tests/server/integration/daemon_fixture.h"
#include "tests/server/testing/token_issuer.h"

namespace holdfast {
namespace {

class PolicyTest : public testing::Test {
 protected:
  PolicyTest() {
    char name[] = "/tmp/holdfast-policy-XXXXXX";
    directory_ = mkdtemp(name);
    Write("unnamed = \"refuse\"\n[tenants.team]\nusers = [4711]\n");
    daemon_ = std::make_unique<DaemonProcess>(std::vector<std::string>{
        "--policy=" + policy(), "--audit-log=" + audit()});
  }
  ~PolicyTest() override {
    daemon_ = nullptr;
    std::filesystem::remove_all(directory_);
  }

  std::string policy() const { return directory_ + "/policy.toml"; }
  std::string audit() const { return directory_ + "/audit.json"; }
  void Write(const std::string& text) { std::ofstream(policy()) << text; }

  static StatusCode List(const ChannelPtr& channel) {
    grpc::ClientContext context;
    v1::ListSessionsResponse response;
    return v1::SessionService::NewStub(channel)
        ->ListSessions(&context, {}, &response)
        .error_code();
  }

  std::vector<std::string> AuditLines(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return absl::StrSplit(text.str(), '\n', absl::SkipEmpty());
  }

  bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 30'000; ++i) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(1));
    }
    return false;
  }

  // A connection whose calls carry the token.
  ChannelPtr WithToken(const std::string& token) const {
    std::vector<
        std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
        interceptors;
    interceptors.push_back(SendToken(token));
    return grpc::experimental::CreateCustomChannelWithInterceptors(
        "unix:" + daemon_->socket(), grpc::InsecureChannelCredentials(), {},
        std::move(interceptors));
  }

  // The variables that the executor of the only session was started with. Only
  // root may look at a process that cannot be traced.
  static std::string ExecutorEnvironment(const ChannelPtr& channel) {
    grpc::ClientContext context;
    v1::ListSessionsResponse list;
    EXPECT_TRUE(v1::SessionService::NewStub(channel)
                    ->ListSessions(&context, {}, &list)
                    .ok());
    if (list.sessions_size() != 1) return "";
    std::stringstream text;
    text << std::ifstream(absl::StrCat("/proc/",
                                       list.sessions(0).executor_pid(),
                                       "/environ"))
                .rdbuf();
    return text.str();
  }

  std::string directory_;
  std::unique_ptr<DaemonProcess> daemon_;
};

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

// A daemon that takes signed tokens, whose subject "ci" is the tenant "team".
class TokenTest : public PolicyTest {
 protected:
  static constexpr char kTokenPolicy[] = R"(
unnamed = "refuse"
[tokens]
keys = ["issuer.pem"]
issuer = "https://id.example"
audience = "holdfast"
[tenants.team]
subjects = ["ci"]
[tenants.team.quota]
sessions = 4
)";

  TokenTest() {
    WriteKey(issuer_.public_key());
    Write(kTokenPolicy);
    Reload();
  }

  void WriteKey(const std::string& pem) {
    std::ofstream(directory_ + "/issuer.pem") << pem;
  }

  // Returns when the daemon has read its files again: the audit log is opened
  // anew after them.
  void Reload() {
    std::filesystem::remove(audit());
    kill(daemon_->pid(), SIGHUP);
    ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(audit()); }));
  }

  static std::string Token(const TokenIssuer& issuer,
                           absl::string_view subject = "ci",
                           absl::Duration lifetime = absl::Hours(1)) {
    return issuer.Sign(absl::StrCat(
        R"({"iss":"https://id.example","aud":"holdfast","sub":")", subject,
        R"(","exp":)", absl::ToUnixSeconds(absl::Now() + lifetime), "}"));
  }

  // Makes a call with a token over a connection.
  static StatusCode ListWith(const ChannelPtr& channel,
                             const std::string& token) {
    grpc::ClientContext context;
    context.AddMetadata(kAuthorizationKey.name, "Bearer " + token);
    v1::ListSessionsResponse response;
    return v1::SessionService::NewStub(channel)
        ->ListSessions(&context, {}, &response)
        .error_code();
  }

  // Bytes of memory that the daemon's supervisor has in use.
  uint64_t MemoryOfDaemon() const {
    std::ifstream file(absl::StrCat("/proc/", daemon_->pid(), "/statm"));
    uint64_t all = 0, resident = 0;
    file >> all >> resident;
    return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  }

  const TokenIssuer issuer_ = TokenIssuer::Ed25519();
};

TEST_F(TokenTest, ATokensTenantOpensASessionAndRuns) {
  const ChannelPtr team = WithToken(Token(issuer_));
  TestSession session(team, "job");
  EXPECT_EQ(session.opened().tenant(), "team");
  const grpc::Status ran = session.Run(team);
  EXPECT_TRUE(ran.ok()) << Text(ran);
  EXPECT_EQ(ListWith(daemon_->Tcp(), Token(issuer_)), StatusCode::OK);
  // Not an operator, though the connection's user is one.
  grpc::ClientContext context;
  v1::CreateTenantRequest request;
  request.set_name("mine");
  v1::CreateTenantResponse response;
  EXPECT_EQ(v1::AdminService::NewStub(team)
                ->CreateTenant(&context, request, &response)
                .error_code(),
            StatusCode::PERMISSION_DENIED);
}

TEST_F(TokenTest, AWrongTokenIsNobodyEvenOnAnOperatorsConnection) {
  const ChannelPtr unix = daemon_->Unix();
  ASSERT_EQ(List(unix), StatusCode::OK);
  EXPECT_EQ(ListWith(unix, Token(TokenIssuer::Ed25519())),
            StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ListWith(unix, Token(issuer_, "ci", -absl::Hours(1))),
            StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ListWith(unix, Token(issuer_, "eve")),
            StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(ListWith(unix, std::string(20'000, '.')),
            StatusCode::UNAUTHENTICATED);
}

// A program that others have compiled neither: it is not even looked up.
TEST_F(TokenTest, ARefusedCompilationIsNoHitOfTheCache) {
  const ChannelPtr unix = daemon_->Unix();
  const auto compile = [&](const std::string& token) {
    grpc::ClientContext context;
    if (!token.empty()) {
      context.AddMetadata(kAuthorizationKey.name, "Bearer " + token);
    }
    v1::CompileRequest request;
    request.set_source("__global__ void f() {}");
    request.set_target(v1::OBJECT_FORMAT_PTX);
    request.set_arch("90");
    v1::CompileResponse response;
    return v1::CompileService::NewStub(unix)
        ->Compile(&context, request, &response)
        .error_code();
  };
  const auto hits = [&] {
    grpc::ClientContext context;
    v1::GetCacheStatisticsResponse statistics;
    EXPECT_TRUE(v1::AdminService::NewStub(unix)
                    ->GetCacheStatistics(&context, {}, &statistics)
                    .ok());
    return statistics.hits();
  };
  ASSERT_EQ(compile(""), StatusCode::OK);
  ASSERT_EQ(compile(""), StatusCode::OK);
  const uint64_t before = hits();
  EXPECT_EQ(compile(Token(TokenIssuer::Ed25519())),
            StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(compile(Token(issuer_, "eve")), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(hits(), before);
}

TEST_F(TokenTest, ANewKeyCountsFromSighupOnAndABrokenOneNever) {
  const ChannelPtr tcp = daemon_->Tcp();
  const std::string old = Token(issuer_);
  const TokenIssuer next = TokenIssuer::Rsa();
  WriteKey(next.private_key());
  Reload();
  EXPECT_EQ(ListWith(tcp, old), StatusCode::OK);
  EXPECT_EQ(ListWith(tcp, Token(next)), StatusCode::UNAUTHENTICATED);
  WriteKey(next.public_key());
  EXPECT_EQ(ListWith(tcp, Token(next)), StatusCode::UNAUTHENTICATED);
  Reload();
  EXPECT_EQ(ListWith(tcp, old), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ListWith(tcp, Token(next)), StatusCode::OK);
}

// An issuer changes its key: the new one is published beside the old one,
// signs, and then the old one goes.
TEST_F(TokenTest, KeysOfASetAreRotatedBySighup) {
  const ChannelPtr tcp = daemon_->Tcp();
  const TokenIssuer next = TokenIssuer::Rsa();
  const auto claims = absl::StrCat(
      R"({"iss":"https://id.example","aud":"holdfast","sub":"ci","exp":)",
      absl::ToUnixSeconds(absl::Now() + absl::Hours(1)), "}");
  const std::string old_token =
      issuer_.SignWithHeader(R"({"alg":"EdDSA","kid":"a"})", claims);
  const std::string new_token =
      next.SignWithHeader(R"({"alg":"RS256","kid":"b"})", claims);
  const auto publish = [&](const std::string& keys) {
    WriteKey("{\"keys\": [" + keys + "]}");
    Reload();
  };
  publish(issuer_.Jwk("a"));
  EXPECT_EQ(ListWith(tcp, old_token), StatusCode::OK);
  EXPECT_EQ(ListWith(tcp, new_token), StatusCode::UNAUTHENTICATED);
  publish(issuer_.Jwk("a") + "," + next.Jwk("b"));
  EXPECT_EQ(ListWith(tcp, old_token), StatusCode::OK);
  EXPECT_EQ(ListWith(tcp, new_token), StatusCode::OK);
  publish(next.Jwk("b") + "," + next.Jwk("b"));  // refused: the same id twice
  EXPECT_EQ(ListWith(tcp, old_token), StatusCode::OK);
  publish(next.Jwk("b"));
  EXPECT_EQ(ListWith(tcp, old_token), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ListWith(tcp, new_token), StatusCode::OK);
}

TEST_F(TokenTest, CheckConfigTellsAMistakeWithItsPlace) {
  const auto check = [&](std::string* text) {
    const std::string command = absl::StrCat(
        getenv("HOLDFAST_DAEMON"), " --check-config --policy=", policy(),
        " --runtime-dir=", directory_, "/run --listen=unix:", directory_,
        "/other.sock 2>&1");
    FILE* const output = popen(command.c_str(), "r");
    text->clear();
    for (int c = fgetc(output); c != EOF; c = fgetc(output)) {
      text->push_back(static_cast<char>(c));
    }
    return pclose(output);
  };
  std::string text;
  EXPECT_EQ(check(&text), 0) << text;
  WriteKey(issuer_.private_key());
  EXPECT_NE(check(&text), 0) << text;
  EXPECT_TRUE(absl::StrContains(text, policy() + ":4:9: ")) << text;
  EXPECT_TRUE(absl::StrContains(text, "private key")) << text;
  WriteKey("{\"keys\":\n[7]}");
  EXPECT_NE(check(&text), 0) << text;
  EXPECT_TRUE(absl::StrContains(text, policy() + ":4:9: ")) << text;
  EXPECT_TRUE(absl::StrContains(text, "issuer.pem: keys[0]: ")) << text;
}

// The round trips of a tenant that is in, with a fence each and a millisecond
// between them.
class RoundTrips {
 public:
  RoundTrips(const ChannelPtr& channel, TestSession* session)
      : channel_(channel), session_(*session) {}

  void Add() {
    const absl::Time begin = absl::Now();
    const grpc::Status ran = session_.Run(channel_);
    times_.push_back(absl::Now() - begin);
    EXPECT_TRUE(ran.ok()) << Text(ran);
    absl::SleepFor(absl::Milliseconds(1));
  }

  size_t count() const { return times_.size(); }

  // Prints the figures, which depend on the machine, and begins anew.
  void Print(const char* when) {
    std::sort(times_.begin(), times_.end());
    const auto at = [this](size_t percent) {
      return absl::ToDoubleMicroseconds(
          times_[(times_.size() - 1) * percent / 100]);
    };
    printf("round trips %s: %zu, median %.0f us, 99%% within %.0f us\n", when,
           times_.size(), at(50), at(99));
    times_.clear();
  }

 private:
  const ChannelPtr channel_;
  TestSession& session_;
  std::vector<absl::Duration> times_;
};

TEST_F(TokenTest, FloodsOfBadLoginsGetErrorsAndCostNoMemory) {
  constexpr int kLogins = 10'000;
  const ChannelPtr team = WithToken(Token(issuer_));
  TestSession session(team, "job");
  RoundTrips trips(team, &session);
  for (int i = 0; i < 1000; ++i) trips.Add();
  trips.Print("alone");
  std::atomic<bool> stop = false;
  std::thread tenant([&] {
    while (!stop) trips.Add();
  });
  const TokenIssuer other = TokenIssuer::Ed25519();
  const ChannelPtr tcp = daemon_->Tcp();
  const auto bad_login = [&](int i) {
    const std::string name = absl::StrCat("eve-", i);
    switch (i % 5) {
      case 0:
        return ListWith(tcp, Token(other, name));
      case 1:
        return ListWith(tcp, Token(issuer_, name, -absl::Hours(1)));
      case 2:
        return ListWith(tcp, absl::StrCat(Token(issuer_, name), "A"));
      case 3:
        return ListWith(tcp, absl::StrCat("holdfast-", i));
      default:
        return ListWith(tcp, absl::StrCat(std::string(7000, 'A'), ".e30.", i));
    }
  };
  uint64_t before = 0;
  for (int i = 0; i < kLogins; ++i) {
    ASSERT_EQ(bad_login(i), StatusCode::UNAUTHENTICATED) << i;
    ASSERT_EQ(List(tcp), StatusCode::PERMISSION_DENIED) << i;
    if (i == kLogins / 10) before = MemoryOfDaemon();
  }
  const uint64_t after = MemoryOfDaemon();
  // Nor do tokens that are right, of people whom the policy does not name.
  for (int i = 0; i < kLogins / 10; ++i) {
    ASSERT_EQ(ListWith(tcp, Token(issuer_, absl::StrCat("eve-", i))),
              StatusCode::PERMISSION_DENIED);
  }
  stop = true;
  tenant.join();
  EXPECT_GT(trips.count(), 100u);
  trips.Print("beside 20 000 bad logins");
  if (!kSanitized) {
    EXPECT_LT(after, before + (uint64_t{32} << 20));
  }
  EXPECT_LT(AuditLines(audit()).size(), 5000u);
  EXPECT_LT(std::filesystem::file_size(audit()), 5u << 20);
}

TEST_F(TokenTest, AThousandBadPoliciesChangeNothing) {
  const ChannelPtr tcp = daemon_->Tcp();
  const std::string token = Token(issuer_);
  const ChannelPtr team = WithToken(token);
  TestSession session(team, "job");
  RoundTrips trips(team, &session);
  for (int i = 0; i < 1000; ++i) trips.Add();
  trips.Print("alone");
  uint64_t before = 0;
  const fuzz::ByteMutator mutator(
      {kTokenPolicy}, {"[", "]", "\"", "=", "tenants", "7", "subjects", "\n"});
  fuzz::Random random(1);
  for (int bad = 0; bad < 1000;) {
    const std::string text = mutator.Make(random);
    if (ParsePolicy(text, policy()).ok()) continue;
    ++bad;
    Write(text);
    Reload();
    trips.Add();
    if (bad == 100) before = MemoryOfDaemon();
    ASSERT_EQ(ListWith(tcp, token), StatusCode::OK) << text;
    ASSERT_EQ(List(tcp), StatusCode::PERMISSION_DENIED) << text;
  }
  trips.Print("after each of 1000 bad policies");
  if (!kSanitized) {
    EXPECT_LT(MemoryOfDaemon(), before + (uint64_t{32} << 20));
  }
}

}  // namespace
}  // namespace holdfast
