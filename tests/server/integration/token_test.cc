// SPDX-License-Identifier: Apache-2.0
//
// Signed tokens, which prove to a real daemon who a client is.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/sanitizer.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "holdfast/v1/compile.grpc.pb.h"
#include "proto/metadata.h"
#include "server/tenants/policy_file.h"
#include "tests/fuzz/engine/byte_mutator.h"
#include "tests/server/integration/policy_fixture.h"
#include "tests/server/testing/token_issuer.h"

namespace holdfast {
namespace {

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
