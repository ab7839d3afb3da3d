// SPDX-License-Identifier: Apache-2.0
#include "server/daemon/config_check.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/config/flags.h"
#include "server/restart/successor.h"
#include "server/rpc/endpoint.h"
#include "server/rpc/tcp_listener.h"
#include "tests/server/testing/certificates.h"

namespace holdfast::server {
namespace {

class ConfigCheckTest : public testing::Test {
 protected:
  ConfigCheckTest() {
    char name[] = "/tmp/holdfast-test-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~ConfigCheckTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) { return directory_ + "/" + name; }

  absl::Status Check(std::vector<std::string> flags) {
    if (!absl::StartsWith(flags.back(), "--runtime-dir=")) {
      flags.push_back("--runtime-dir=" + Path("run"));
    }
    flags.insert(flags.begin(), "holdfastd");
    std::vector<char*> argv;
    for (std::string& flag : flags) argv.push_back(flag.data());
    int exit_code = 0;
    const std::optional<Config> config =
        ParseFlags(static_cast<int>(argv.size()), argv.data(), &exit_code);
    if (!config.has_value()) return absl::InternalError("flags");
    return CheckConfig(*config);
  }

  void ExpectMistake(const std::vector<std::string>& flags,
                     const std::string& text) {
    const absl::Status status = Check(flags);
    EXPECT_TRUE(absl::StrContains(status.message(), text)) << status;
  }

  std::string directory_;
};

// Before an upgrade; the running daemon's own ports are in use.
TEST_F(ConfigCheckTest, FindsPortsOfOtherPrograms) {
  const auto other = TcpListener::Listen(
      {.kind = Endpoint::Kind::kTcp, .host = "127.0.0.1", .port = 0});
  ASSERT_TRUE(other.ok()) << other.status();
  const std::string port = absl::StrCat((*other)->port());
  const std::vector<std::string> listen = {"--listen=tcp:127.0.0.1:" + port};
  EXPECT_EQ(Check(listen), absl::OkStatus());
  setenv(kTakenAddresses, "", 1);
  ExpectMistake(listen, ":" + port + ": Address already in use");
  ExpectMistake({"--metrics-address=127.0.0.1:" + port}, "already in use");
  // The port of this daemon, at another address.
  setenv(kTakenAddresses, absl::StrCat("tcp:0.0.0.0:", port).c_str(), 1);
  ExpectMistake(listen, "already in use");
  setenv(kTakenAddresses,
         absl::StrCat("tcp:localhost:1,tcp:127.0.0.1:", port).c_str(), 1);
  EXPECT_EQ(Check(listen), absl::OkStatus());
  unsetenv(kTakenAddresses);
}

TEST_F(ConfigCheckTest, FindsWhatAStartWouldRefuse) {
  ExpectMistake({"--metrics-address=0.0.0.0:9464"},
                "is reachable from other machines");
  std::ofstream(Path("password")) << "secret\n";
  chmod(Path("password").c_str(), 0644);
  ExpectMistake({"--metrics-address=127.0.0.1:9464",
                 "--metrics-password-file=" + Path("password")},
                "can be read by every user");
  ExpectMistake({"--audit-log=" + Path("none/audit.log")}, "--audit-log=");
  ExpectMistake({"--user-range=5"}, "is no range of user numbers");
  ExpectMistake({"--listen=unix:/tmp/a", "--listen=unix:/tmp/a"},
                "unix:/tmp/a is given twice");
  ExpectMistake({"--listen=tcp:0.0.0.0:7070"}, "--insecure");
  std::ofstream(Path("file")) << "no directory";
  ExpectMistake({"--runtime-dir=" + Path("file/run")}, "is no directory");
  ExpectMistake({"--runtime-dir=" + Path(std::string(100, 'a'))}, "too long");
  ExpectMistake({"--policy=" + Path("none.toml")}, "none.toml");
}

// A daemon starts with it, for its other clients, but nobody wants it so.
TEST_F(ConfigCheckTest, FindsAnExpiredCertificate) {
  CertificateAuthority authority;
  const Certificate expired =
      authority.Issue("server", {.begin = -7200, .end = -3600});
  std::ofstream(Path("server.pem")) << expired.certificate;
  std::ofstream(Path("server.key")) << expired.key;
  ExpectMistake({"--listen=tcp:127.0.0.1:0", "--tls-cert=" + Path("server.pem"),
                 "--tls-key=" + Path("server.key")},
                "server.pem has expired");
}

TEST_F(ConfigCheckTest, MetricsNeedTheirLibrary) {
  const std::string library = getenv("HOLDFAST_METRICS_LIBRARY");
  setenv("HOLDFAST_METRICS_LIBRARY", Path("none.so").c_str(), 1);
  ExpectMistake({"--metrics-address=127.0.0.1:9464"},
                "metrics need libholdfast_metrics.so, which is in the wheel");
  setenv("HOLDFAST_METRICS_LIBRARY", library.c_str(), 1);
}

TEST_F(ConfigCheckTest, WhatIsRightIsLeftAsItIs) {
  EXPECT_EQ(Check({"--audit-log=" + Path("audit.log"), "--user-range=5-9",
                   "--listen=tcp:127.0.0.1:0", "--listen=tcp:127.0.0.1:0",
                   "--metrics-address=127.0.0.1:9464",
                   "--suspend-directory=" + directory_}),
            absl::OkStatus());
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

}  // namespace
}  // namespace holdfast::server
