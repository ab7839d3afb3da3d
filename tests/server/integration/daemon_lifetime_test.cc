// SPDX-License-Identifier: Apache-2.0
//
// How a daemon starts and ends, and what becomes of its processes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/sanitizer.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "holdfast/v1/devices.grpc.pb.h"
#include "proto/metadata.h"
#include "tests/server/integration/daemon_fixture.h"

namespace holdfast {
namespace {

// No device works with so few addresses.
TEST(AddressLimitTest, ADaemonWithTooFewAddressesNamesTheLimitAndEnds) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs more itself";
  const std::string command =
      absl::StrCat("ulimit -v 16777216; exec ", getenv("HOLDFAST_DAEMON"),
                   " --listen=unix:/tmp/never-made.sock 2>&1");
  FILE* const output = popen(command.c_str(), "r");
  ASSERT_NE(output, nullptr);
  std::string text;
  for (char piece[256]; fgets(piece, sizeof piece, output) != nullptr;) {
    text += piece;
  }
  EXPECT_EQ(WEXITSTATUS(pclose(output)), 1);
  EXPECT_TRUE(absl::StrContains(text, "17179869184 bytes of addresses"))
      << text;
  EXPECT_TRUE(absl::StrContains(text, "`ulimit -v unlimited`")) << text;
}

TEST_F(DaemonTest, SigtermWaitsForSessionsAndLeavesNothing) {
  TestSession session(unix_);
  const pid_t executor = ExecutorPid(session);
  kill(daemon_.pid(), SIGTERM);
  // Refused once the signal has been seen; until then sessions may open.
  const auto sessions = v1::SessionService::NewStub(unix_);
  v1::OpenSessionRequest request;
  request.set_protocol_version(1);
  grpc::Status refused;
  do {
    grpc::ClientContext context;
    v1::OpenSessionResponse response;
    refused = sessions->OpenSession(&context, request, &response);
    if (!refused.ok()) break;
    grpc::ClientContext close_context;
    close_context.AddMetadata(kSessionTokenKey.name,
                              absl::BytesToHexString(response.token()));
    v1::CloseSessionResponse closed;
    sessions->CloseSession(&close_context, {}, &closed);
  } while (true);
  EXPECT_EQ(refused.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(session.Run(unix_).ok());
  EXPECT_TRUE(session.Close().ok());
  EXPECT_EQ(daemon_.Wait(), 0);
  EXPECT_EQ(kill(executor, 0), -1);
  // The cache of compiled programs is there to stay.
  for (const auto& left :
       std::filesystem::directory_iterator(daemon_.directory())) {
    EXPECT_EQ(left.path().filename(), "programs");
  }
}

TEST_F(DaemonTest, SecondSigtermStopsAtOnce) {
  TestSession session(unix_);
  auto end = std::async(std::launch::async, [&] { return session.AwaitEnd(); });
  kill(daemon_.pid(), SIGTERM);
  kill(daemon_.pid(), SIGINT);
  EXPECT_EQ(daemon_.Wait(), 0);
  EXPECT_TRUE(absl::StrContains(end.get(), "stopping"));
}

TEST_F(DaemonTest, KilledDaemonTakesItsProcessesAlongAndCanBeReplaced) {
  TestSession session(unix_);
  const pid_t executor = ExecutorPid(session);
  kill(daemon_.pid(), SIGKILL);
  EXPECT_EQ(daemon_.Wait(), -SIGKILL);
  const auto gone = [&] {
    std::ifstream stat(absl::StrCat("/proc/", executor, "/stat"));
    std::string pid, name, state;
    return !(stat >> pid >> name >> state) || state == "Z";
  };
  while (!gone()) usleep(1000);
  // Its socket file is still there; a new daemon takes it over.
  ASSERT_TRUE(std::filesystem::exists(daemon_.socket()));
  DaemonProcess next({"--listen=unix:" + daemon_.socket()});
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  EXPECT_TRUE(v1::AdminService::NewStub(daemon_.Unix())
                  ->GetServerInfo(&context, {}, &info)
                  .ok());
  EXPECT_EQ(info.pid(), next.pid());
}

TEST_F(DaemonTest, SecondDaemonOnTheSameSocketDoesNotStart) {
  DaemonProcess second({"--listen=unix:" + daemon_.socket()});
  EXPECT_EQ(second.Wait(), 1);
  TestSession session(unix_);
  EXPECT_TRUE(session.Run(unix_).ok());
}

TEST(DaemonStartTest, DaemonThatIsWatchedEndsWithItsParent) {
  int watch[2];
  ASSERT_EQ(pipe2(watch, O_CLOEXEC), 0);
  const int inherited = dup(watch[0]);
  DaemonProcess daemon({absl::StrCat("--watch-fd=", inherited)});
  TestSession session(daemon.Unix());
  close(watch[1]);
  EXPECT_EQ(daemon.Wait(), 0);
  close(watch[0]);
  close(inherited);
}

TEST(DaemonStartTest, NoUsableDriverIsSaidToClients) {
  DaemonProcess daemon({"--software-driver=/nonexistent/driver.so"});
  grpc::ClientContext context;
  v1::OpenSessionRequest request;
  request.set_protocol_version(1);
  v1::OpenSessionResponse response;
  const grpc::Status status = v1::SessionService::NewStub(daemon.Unix())
                                  ->OpenSession(&context, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(absl::StrContains(status.error_message(), "/nonexistent"))
      << Text(status);
  EXPECT_EQ(HealthOf(daemon.Unix(), ""), kNotServing);
}

TEST(DaemonStartTest, TooManySessionsAreRefused) {
  DaemonProcess daemon({"--max-sessions=1"});
  TestSession session(daemon.Unix());
  grpc::ClientContext context;
  v1::OpenSessionRequest request;
  request.set_protocol_version(1);
  v1::OpenSessionResponse response;
  EXPECT_EQ(v1::SessionService::NewStub(daemon.Unix())
                ->OpenSession(&context, request, &response)
                .error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
}

TEST(DaemonStartTest, PlainTcpBeyondLoopbackIsRefused) {
  DaemonProcess daemon({"--listen=tcp:0.0.0.0:0"});
  EXPECT_EQ(daemon.Wait(), 1);
}

}  // namespace
}  // namespace holdfast
