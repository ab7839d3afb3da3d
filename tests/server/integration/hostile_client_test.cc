// SPDX-License-Identifier: Apache-2.0
//
// Clients that want to stop the daemon for others: floods, calls that never go
// on, too many of everything. Each is confined to its own share. The hostile
// client comes by TCP, so it is "ip 127.0.0.1"; its neighbour by the Unix
// socket, so it is the daemon's own user.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/error_detail.h"
#include "holdfast/v1/objects.grpc.pb.h"
#include "proto/metadata.h"
#include "server/rpc/status_conversion.h"
#include "tests/server/integration/daemon_fixture.h"
#include "tests/server/testing/raw_http2.h"

namespace holdfast {
namespace {

// "VmHWM", the most that was ever resident.
int64_t MegabytesOf(pid_t pid, const std::string& field) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(field + ":", 0) != 0) continue;
    return std::stoll(line.substr(field.size() + 1)) / 1024;
  }
  return 0;
}

grpc::Status Open(const ChannelPtr& channel,
                  v1::OpenSessionRequest request = {},
                  std::string* token = nullptr) {
  request.set_protocol_version(1);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(60));
  v1::OpenSessionResponse response;
  const grpc::Status status = v1::SessionService::NewStub(channel)->OpenSession(
      &context, request, &response);
  if (token != nullptr) *token = response.token();
  return status;
}

v1::ListSessionsResponse List(const ChannelPtr& channel) {
  grpc::ClientContext context;
  v1::ListSessionsResponse response;
  const grpc::Status status =
      v1::SessionService::NewStub(channel)->ListSessions(&context, {},
                                                         &response);
  EXPECT_TRUE(status.ok()) << Text(status);
  return response;
}

// The processes of this parent.
std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    int pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string text;
    std::getline(stat, text);
    const size_t end = text.rfind(')');
    if (end == std::string::npos) continue;
    pid_t of = 0;
    if (sscanf(text.c_str() + end + 1, " %*c %d", &of) == 1 && of == parent) {
      children.push_back(pid);
    }
  }
  return children;
}

class HostileClientTest : public DaemonTest,
                          public testing::WithParamInterface<const char*> {};

// Each reset stream costs gRPC some 20 KiB until its call has been dropped,
// which it does more slowly than it takes new ones.
TEST_P(HostileClientTest,
       RapidResetTakesBoundedMemoryAndOnlyItsClientIsCutOff) {
  constexpr uint32_t kResets = 100'000;
  RawHttp2 flood(daemon_.tcp_address());
  ASSERT_TRUE(flood.Begin());
  bool open = true;
  for (uint32_t i = 0; i < kResets && open; ++i) {
    flood.AddHeaders(2 * i + 1, GetParam());
    flood.AddReset(2 * i + 1);
    if (i % 100 == 99) open = flood.Flush();
  }
  EXPECT_TRUE(flood.IsClosed(10'000));
  TestSession neighbour(unix_);
  EXPECT_TRUE(neighbour.Run(unix_).ok());
  EXPECT_LT(MegabytesOf(daemon_.pid(), "VmHWM"), 600);
}

INSTANTIATE_TEST_SUITE_P(
    OfEachKindOfMethod, HostileClientTest,
    testing::Values("/holdfast.v1.CommandService/Run",
                    "/holdfast.v1.SessionService/ListSessions",
                    "/holdfast.v1.ObjectService/PutObject",
                    "/no.such.Service/Method"),
    [](const auto& info) {
      std::string name = info.param;
      return name.substr(name.rfind('/') + 1);
    });

TEST(FloodTest, AUserOfTheUnixSocketIsBoundedAsWell) {
  DaemonProcess daemon;
  RawHttp2 flood("unix:" + daemon.socket());
  ASSERT_TRUE(flood.Begin());
  bool open = true;
  for (uint32_t i = 0; i < 100'000 && open; ++i) {
    flood.AddHeaders(2 * i + 1, "/holdfast.v1.SessionService/OpenSession");
    flood.AddReset(2 * i + 1);
    if (i % 100 == 99) open = flood.Flush();
  }
  EXPECT_TRUE(flood.IsClosed(10'000));
  EXPECT_LT(MegabytesOf(daemon.pid(), "VmHWM"), 600);
}

using HostileTest = DaemonTest;

TEST_F(HostileTest, HalfSentUploadsHoldNothingThatOthersNeed) {
  struct Upload {
    grpc::ClientContext context;
    v1::PutObjectResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::PutObjectRequest>> writer;
  };
  std::vector<ChannelPtr> channels;
  for (int i = 0; i < 8; ++i) channels.push_back(daemon_.Tcp());
  std::vector<std::unique_ptr<Upload>> uploads;
  for (size_t i = 0; i < 300; ++i) {
    Upload& upload = *uploads.emplace_back(std::make_unique<Upload>());
    upload.writer = v1::ObjectService::NewStub(channels[i % channels.size()])
                        ->PutObject(&upload.context, &upload.response);
    v1::PutObjectRequest header;
    header.mutable_header()->set_size(1 << 20);
    upload.writer->Write(header);
  }
  const grpc::Status opened = Open(unix_);
  EXPECT_TRUE(opened.ok()) << Text(opened);
  EXPECT_EQ(List(unix_).sessions_size(), 1);
  grpc::ClientContext context;
  v1::PutObjectResponse response;
  const auto put =
      v1::ObjectService::NewStub(unix_)->PutObject(&context, &response);
  v1::PutObjectRequest part;
  part.mutable_header()->set_size(3);
  put->Write(part);
  put->WritesDone();
  // It got as far as its bytes being counted.
  EXPECT_EQ(put->Finish().error_code(), StatusCode::INVALID_ARGUMENT);
  for (const auto& upload : uploads) upload->context.TryCancel();
}

TEST_F(HostileTest, UnfinishedUploadsOfOneClientHaveABoundInSum) {
  struct Upload {
    grpc::ClientContext context;
    v1::PutObjectResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::PutObjectRequest>> writer;
  };
  const auto begin = [](const ChannelPtr& channel) {
    auto upload = std::make_unique<Upload>();
    upload->writer = v1::ObjectService::NewStub(channel)->PutObject(
        &upload->context, &upload->response);
    v1::PutObjectRequest header;
    header.mutable_header()->set_size(uint64_t{256} << 20);
    upload->writer->Write(header);
    return upload;
  };
  // The store has 1 GiB, of which one client may fill half with such uploads.
  std::vector<std::unique_ptr<Upload>> uploads;
  for (int i = 0; i < 3; ++i) uploads.push_back(begin(daemon_.Tcp()));
  int refused = 0;
  for (const auto& upload : uploads) {
    upload->writer->WritesDone();
    const grpc::Status status = upload->writer->Finish();
    if (status.error_code() == StatusCode::RESOURCE_EXHAUSTED) ++refused;
  }
  // Which ones are over at once depends on the order; nothing was sent, so the
  // others end as too short, and leave what they held.
  EXPECT_LE(refused, 1);
  uploads.clear();
  for (int i = 0; i < 3; ++i) uploads.push_back(begin(tcp_));
  // Any of them, since they are served side by side.
  Upload* one_too_many = nullptr;
  v1::PutObjectRequest part;
  part.set_data("x");
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (one_too_many == nullptr && absl::Now() < deadline) {
    for (const auto& upload : uploads) {
      if (!upload->writer->Write(part)) one_too_many = upload.get();
    }
  }
  ASSERT_NE(one_too_many, nullptr);
  const grpc::Status over = one_too_many->writer->Finish();
  EXPECT_EQ(over.error_code(), StatusCode::RESOURCE_EXHAUSTED) << Text(over);
  EXPECT_TRUE(absl::StrContains(over.error_message(), "unfinished uploads"))
      << Text(over);
  for (const auto& upload : uploads) upload->context.TryCancel();
}

TEST_F(HostileTest, SymbolsOfAnObjectAreBounded) {
  grpc::ClientContext context;
  v1::PutObjectResponse response;
  const auto put =
      v1::ObjectService::NewStub(tcp_)->PutObject(&context, &response);
  v1::PutObjectRequest part;
  part.mutable_header()->set_size(1);
  (*part.mutable_header()->mutable_symbols())["name"] =
      std::string(5 << 20, 'x');
  put->Write(part);
  put->WritesDone();
  const grpc::Status status = put->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << Text(status);
  EXPECT_TRUE(absl::StrContains(status.error_message(), "limit is 4194304"))
      << Text(status);
}

TEST_F(HostileTest, LongTextAboutAClientIsRefusedWithItsNameAndLimit) {
  v1::OpenSessionRequest program, host, devices;
  program.mutable_client()->set_program(std::string(257, 'p'));
  host.mutable_client()->set_host(std::string(257, 'h'));
  for (uint32_t i = 0; i < 257; ++i) devices.add_devices(i);
  const auto expect_refused = [&](const v1::OpenSessionRequest& request,
                                  const char* what) {
    const grpc::Status status = Open(tcp_, request);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(absl::StrContains(status.error_message(), what) &&
                absl::StrContains(status.error_message(), "limit is 256"))
        << Text(status);
  };
  expect_refused(program, "ClientInfo.program has 257 bytes");
  expect_refused(host, "ClientInfo.host has 257 bytes");
  expect_refused(devices, "257 devices");
}

TEST(SessionShareTest, OneClientCannotTakeEverySessionByMoreConnections) {
  DaemonProcess daemon({"--max-sessions=4"});
  EXPECT_TRUE(Open(daemon.Tcp()).ok());
  EXPECT_TRUE(Open(daemon.Tcp()).ok());
  const grpc::Status third = Open(daemon.Tcp());
  EXPECT_EQ(third.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(absl::StrContains(third.error_message(),
                                "2 sessions of this client (ip 127.0.0.1)"))
      << Text(third);
  EXPECT_TRUE(Open(daemon.Unix()).ok());
  EXPECT_TRUE(Open(daemon.Unix()).ok());
}

TEST(SessionShareTest, LimitOfSessionsAClientCanBeGiven) {
  DaemonProcess daemon({"--max-sessions-per-client=1"});
  EXPECT_TRUE(Open(daemon.Tcp()).ok());
  EXPECT_EQ(Open(daemon.Tcp()).error_code(), StatusCode::RESOURCE_EXHAUSTED);
}

TEST(SessionShareTest, LostSessionsMakeRoom) {
  DaemonProcess daemon({"--max-sessions=3", "--list-sessions=all"});
  const ChannelPtr tcp = daemon.Tcp();
  v1::OpenSessionRequest request;
  request.set_recover(v1::RECOVERY_POLICY_NEVER);
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(Open(tcp, request).ok());
    const v1::ListSessionsResponse list = List(tcp);
    ASSERT_LE(list.sessions_size(), 3);
    const auto& newest = list.sessions(list.sessions_size() - 1);
    kill(static_cast<pid_t>(newest.executor_pid()), SIGKILL);
    const auto lost = [&] {
      const v1::ListSessionsResponse now = List(tcp);
      return now.sessions(now.sessions_size() - 1).state() ==
             v1::SessionInfo::STATE_LOST;
    };
    while (!lost()) usleep(1000);
  }
}

TEST_F(HostileTest, AClientSeesItsOwnSessionsAndTheOperatorAll) {
  ASSERT_TRUE(Open(tcp_).ok());
  ASSERT_TRUE(Open(unix_).ok());
  EXPECT_EQ(List(unix_).sessions_size(), 2);
  const v1::ListSessionsResponse own = List(tcp_);
  ASSERT_EQ(own.sessions_size(), 1);
  EXPECT_TRUE(absl::StartsWith(own.sessions(0).peer(), "tcp "));
}

TEST(ConnectionsTest, IdleOnesMakeRoomForAClientThatCalls) {
  DaemonProcess daemon({"--max-connections=8"});
  TestSession session(daemon.Unix());
  std::vector<std::unique_ptr<RawHttp2>> idle;
  for (int i = 0; i < 40; ++i) {
    idle.push_back(std::make_unique<RawHttp2>("unix:" + daemon.socket()));
    idle.back()->Begin();
  }
  usleep(1'100'000);  // After a second without a call they are idle.
  // gRPC tries again by itself if it was refused.
  v1::ListSessionsResponse response;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  const grpc::Status status = v1::SessionService::NewStub(daemon.Unix())
                                  ->ListSessions(&context, {}, &response);
  EXPECT_TRUE(status.ok()) << Text(status);
  // It has a stream open, so it was none of those that were closed.
  EXPECT_TRUE(session.Close().ok());
}

TEST_F(HostileTest, TrailersFitIntoWhatAnyGrpcClientTakes) {
  std::string source;
  for (int i = 0; i < 300; ++i)
    absl::StrAppend(&source, "undeclared", i, ";\n");
  v1::CompileRequest request;
  request.set_source(source);
  const ChannelPtr plain = grpc::CreateChannel(
      "unix:" + daemon_.socket(), grpc::InsecureChannelCredentials());
  const auto compiler = v1::CompileService::NewStub(plain);
  grpc::ClientContext context;
  v1::CompileResponse response;
  const grpc::Status cut = compiler->Compile(&context, request, &response);
  EXPECT_EQ(cut.error_code(), StatusCode::INVALID_ARGUMENT) << Text(cut);
  const auto detail = GetErrorDetail(FromGrpcStatus(cut));
  ASSERT_TRUE(detail.has_value());
  EXPECT_TRUE(absl::StrContains(detail->log, "more bytes]"));
  // A client that takes more asks for it.
  grpc::ClientContext asking;
  asking.AddMetadata(kTrailerBytesKey.name, absl::StrCat(kMaxTrailerBytes));
  const grpc::Status whole =
      v1::CompileService::NewStub(unix_)->Compile(&asking, request, &response);
  EXPECT_GT(GetErrorDetail(FromGrpcStatus(whole))->log.size(),
            kDefaultTrailerBytes);
}

TEST_F(HostileTest, SighupAndUserSignalsDoNotEndTheDaemon) {
  TestSession session(unix_);
  for (const int signal : {SIGHUP, SIGUSR1}) {
    kill(daemon_.pid(), signal);
    EXPECT_TRUE(session.Run(unix_).ok());
  }
  EXPECT_TRUE(session.Close().ok());
  kill(daemon_.pid(), SIGTERM);
  EXPECT_EQ(daemon_.Wait(), 0);
}

TEST_F(HostileTest, DeathOfTheSpawnerEndsTheDaemonWithAnError) {
  ASSERT_TRUE(Open(unix_).ok());
  const std::vector<pid_t> children = ChildrenOf(daemon_.pid());
  ASSERT_EQ(children.size(), 1u);
  kill(children[0], SIGKILL);
  EXPECT_EQ(daemon_.Wait(), 1);
}

}  // namespace
}  // namespace holdfast
