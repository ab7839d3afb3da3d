// SPDX-License-Identifier: Apache-2.0
//
// The real daemon, its real executors and compiler workers, over real sockets.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "holdfast/v1/compile.grpc.pb.h"
#include "holdfast/v1/devices.grpc.pb.h"
#include "holdfast/v1/sessions.grpc.pb.h"
#include "holdfast/v1/transfers.grpc.pb.h"
#include "proto/metadata.h"
#include "server/rpc/status_conversion.h"
#include "tests/server/integration/daemon_fixture.h"

namespace holdfast {
namespace {

TEST_F(DaemonTest, SaysWhatItIs) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(
      v1::AdminService::NewStub(tcp_)->GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.pid(), daemon_.pid());
  EXPECT_EQ(info.protocol_versions(0), 1u);
  EXPECT_FALSE(info.version().empty());
  EXPECT_EQ(info.max_sessions(), 64u);
}

TEST_F(DaemonTest, SocketIsItsOwnersAlone) {
  struct stat info = {};
  ASSERT_EQ(stat(daemon_.socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(DaemonTest, ListsAndDescribesDevices) {
  const auto devices = v1::DeviceService::NewStub(unix_);
  grpc::ClientContext list_context, describe_context, unknown_context;
  v1::ListDevicesResponse list;
  ASSERT_TRUE(devices->ListDevices(&list_context, {}, &list).ok());
  ASSERT_GE(list.devices_size(), 1);
  EXPECT_EQ(list.driver().kind(), v1::Driver::KIND_SOFTWARE);
  EXPECT_TRUE(list.devices(0).attributes().empty());
  v1::DescribeDeviceRequest request;
  v1::DescribeDeviceResponse device;
  ASSERT_TRUE(
      devices->DescribeDevice(&describe_context, request, &device).ok());
  EXPECT_EQ(device.device().attributes().at("warp_size"), 32);
  request.set_ordinal(99);
  EXPECT_EQ(
      devices->DescribeDevice(&unknown_context, request, &device).error_code(),
      StatusCode::NOT_FOUND);
}

TEST_F(DaemonTest, LocalClientIsSentToTheExecutorItself) {
  TestSession session(unix_);
  EXPECT_EQ(session.opened().token().size(), 16u);
  const grpc::Status status =
      session.Run(Connect(session.opened().local_address()));
  EXPECT_TRUE(status.ok()) << Text(status);
  EXPECT_EQ(session.results().results_size(), 1);
}

TEST_F(DaemonTest, RemoteClientIsForwarded) {
  TestSession session(tcp_);
  EXPECT_EQ(session.opened().local_address(), "");
  const grpc::Status status = session.Run(tcp_);
  EXPECT_TRUE(status.ok()) << Text(status);
  EXPECT_EQ(session.results().results_size(), 1);
}

TEST_F(DaemonTest, ForwardsAStreamBothWays) {
  TestSession session(tcp_);
  grpc::ClientContext context;
  session.AddToken(&context);
  const auto stream = v1::CommandService::NewStub(tcp_)->Execute(&context);
  for (uint64_t sequence = 1; sequence <= 100; ++sequence) {
    v1::CommandBatch batch;
    batch.set_first_sequence(sequence);
    batch.add_commands()->mutable_fence();
    ASSERT_TRUE(stream->Write(batch));
    v1::ResultBatch results;
    ASSERT_TRUE(stream->Read(&results));
    ASSERT_EQ(results.results_size(), 1);
    EXPECT_EQ(results.results(0).sequence(), sequence);
  }
  stream->WritesDone();
  const grpc::Status status = stream->Finish();
  EXPECT_TRUE(status.ok()) << Text(status);
}

TEST_F(DaemonTest, ForwardsTheExecutorsErrors) {
  TestSession session(tcp_);
  v1::UploadResponse response;
  grpc::ClientContext context;
  session.AddToken(&context);
  const auto upload =
      v1::TransferService::NewStub(tcp_)->Upload(&context, &response);
  v1::UploadRequest header;
  header.mutable_header()->set_size(1);
  upload->Write(header);
  upload->WritesDone();
  const grpc::Status status = upload->Finish();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.error_code(), StatusCode::UNAVAILABLE) << Text(status);
}

TEST_F(DaemonTest, MessageOverTheExecutorsLimitIsRefusedAndTheSessionGoesOn) {
  TestSession session(tcp_);
  v1::CommandBatch batch;
  batch.set_first_sequence(1);
  batch.add_commands()->mutable_write_buffer()->set_data(
      std::string(6 << 20, 'x'));
  for (const ChannelPtr& channel : {tcp_, unix_}) {
    grpc::ClientContext context;
    session.AddToken(&context);
    v1::ResultBatch results;
    EXPECT_EQ(v1::CommandService::NewStub(channel)
                  ->Run(&context, batch, &results)
                  .error_code(),
              StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_TRUE(session.Run(tcp_).ok());
}

TEST_F(DaemonTest, EveryLimitIsToldAndOneMoreIsRefused) {
  TestSession session(tcp_);
  const v1::SessionLimits& limits = session.opened().limits();
  const auto* fields = v1::SessionLimits::descriptor();
  for (int i = 0; i < fields->field_count(); ++i) {
    EXPECT_TRUE(limits.GetReflection()->HasField(limits, fields->field(i)))
        << fields->field(i)->name();
  }
  v1::CommandBatch batch;
  batch.set_first_sequence(1);
  for (uint32_t i = 0; i <= limits.max_batch_commands(); ++i) {
    batch.add_commands();
  }
  grpc::ClientContext context;
  session.AddToken(&context);
  v1::ResultBatch results;
  const grpc::Status status =
      v1::CommandService::NewStub(tcp_)->Run(&context, batch, &results);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(absl::StrContains(status.error_message(), "4097"))
      << Text(status);
}

TEST_F(DaemonTest, MissingMalformedAndForgedTokensAreToldApart) {
  const auto commands = v1::CommandService::NewStub(tcp_);
  const auto run = [&](const char* token) {
    grpc::ClientContext context;
    if (token != nullptr) context.AddMetadata(kSessionTokenKey.name, token);
    v1::CommandBatch batch;
    batch.set_first_sequence(1);
    v1::ResultBatch results;
    return commands->Run(&context, batch, &results).error_code();
  };
  TestSession session(tcp_);
  EXPECT_EQ(run(nullptr), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(run("abc"), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(run("zz23456789abcdef0123456789abcdef"),
            StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(run("0123456789abcdef0123456789abcdef"), StatusCode::NOT_FOUND);
  // The executor's own socket does not know it either.
  grpc::ClientContext context;
  context.AddMetadata(kSessionTokenKey.name,
                      "0123456789abcdef0123456789abcdef");
  v1::CommandBatch batch;
  batch.set_first_sequence(1);
  v1::ResultBatch results;
  TestSession local(unix_);
  EXPECT_FALSE(
      v1::CommandService::NewStub(Connect(local.opened().local_address()))
          ->Run(&context, batch, &results)
          .ok());
}

TEST_F(DaemonTest, ListsSessionsWithTheirPeers) {
  TestSession a(unix_, "first"), b(tcp_, "second");
  const v1::ListSessionsResponse sessions = Sessions();
  ASSERT_EQ(sessions.sessions_size(), 2);
  EXPECT_EQ(sessions.sessions(0).name(), "first");
  EXPECT_EQ(sessions.sessions(0).peer(),
            absl::StrCat("unix uid=", getuid(), " pid=", getpid()));
  EXPECT_EQ(sessions.sessions(0).state(), v1::SessionInfo::STATE_ACTIVE);
  EXPECT_TRUE(absl::StartsWith(sessions.sessions(1).peer(), "tcp 127.0.0.1:"));
}

TEST_F(DaemonTest, ClosedSessionIsGone) {
  TestSession session(unix_);
  const pid_t executor = ExecutorPid(session);
  ASSERT_TRUE(session.Close().ok());
  EXPECT_EQ(session.AwaitEnd(), "");
  EXPECT_EQ(kill(executor, 0), -1);
  EXPECT_EQ(Sessions().sessions_size(), 0);
  EXPECT_EQ(session.Close().error_code(), StatusCode::NOT_FOUND);
}

TEST_F(DaemonTest, SessionOfADeadClientIsFreed) {
  TestSession dying(unix_), other(unix_);
  dying.Disconnect();
  while (Sessions().sessions_size() > 1) usleep(1000);
  EXPECT_TRUE(other.Run(unix_).ok());
}

// It asks without reading the answers, of which the 65535 bytes that HTTP/2 has
// room for hold 13107. The next is stuck, and nothing is being read, when the
// stream breaks.
TEST_F(DaemonTest, SessionOfAClientThatDiesWithoutReadingIsFreed) {
  TestSession dying(unix_);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // The room does not grow.
  const auto channel =
      grpc::CreateCustomChannel("unix:" + daemon_.socket(),
                                grpc::InsecureChannelCredentials(), arguments);
  grpc::ClientContext context;
  dying.AddToken(&context);
  const auto stream = v1::SessionService::NewStub(channel)->KeepAlive(&context);
  for (int i = 0; i < 20000; ++i) ASSERT_TRUE(stream->Write({}));
  context.TryCancel();
  dying.Disconnect();
  while (Sessions().sessions_size() > 0) usleep(1000);
}

TEST_F(DaemonTest, KilledExecutorLosesItsSessionAndNothingElse) {
  TestSession lost(tcp_), other(tcp_);
  ASSERT_TRUE(lost.Run(tcp_).ok());
  grpc::ClientContext context;
  lost.AddToken(&context);
  const auto stream = v1::CommandService::NewStub(tcp_)->Execute(&context);
  v1::CommandBatch batch;
  batch.set_first_sequence(100);
  batch.add_commands()->mutable_fence();
  v1::ResultBatch results;
  ASSERT_TRUE(stream->Write(batch) && stream->Read(&results));

  kill(ExecutorPid(lost), SIGKILL);

  EXPECT_FALSE(stream->Read(&results));
  const grpc::Status broken = stream->Finish();
  EXPECT_EQ(broken.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(absl::StrContains(broken.error_message(), "SIGKILL"))
      << Text(broken);
  const auto detail = GetErrorDetail(FromGrpcStatus(broken));
  ASSERT_TRUE(detail.has_value());
  EXPECT_TRUE(detail->session_lost);
  EXPECT_TRUE(absl::StrContains(lost.AwaitEnd(), "SIGKILL"));
  EXPECT_EQ(lost.Run(tcp_).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(Sessions().sessions(0).state(), v1::SessionInfo::STATE_LOST);

  EXPECT_TRUE(other.Run(tcp_).ok());
  TestSession next(tcp_);
  EXPECT_TRUE(next.Run(tcp_).ok());
  EXPECT_TRUE(lost.Close().ok());
}

TEST_F(DaemonTest, OpenRefusesWhatItCannotServe) {
  const auto sessions = v1::SessionService::NewStub(unix_);
  const auto open = [&](const v1::OpenSessionRequest& request) {
    grpc::ClientContext context;
    v1::OpenSessionResponse response;
    return sessions->OpenSession(&context, request, &response).error_code();
  };
  v1::OpenSessionRequest request;
  EXPECT_EQ(open(request), StatusCode::INVALID_ARGUMENT);
  request.set_protocol_version(1);
  request.mutable_reconnect_grace()->set_seconds(7200);
  EXPECT_EQ(open(request), StatusCode::INVALID_ARGUMENT);
  request.clear_reconnect_grace();
  request.set_name(std::string(129, 'x'));
  EXPECT_EQ(open(request), StatusCode::INVALID_ARGUMENT);
}

TEST_F(DaemonTest, IsHealthyOnceADeviceIsReady) {
  while (HealthOf(tcp_, "") != kServing) usleep(1000);
  EXPECT_EQ(HealthOf(tcp_, "holdfast.v1.CommandService"), kServing);
  EXPECT_EQ(HealthOf(tcp_, "holdfast.v1.SessionService"), kServing);
}

TEST_F(DaemonTest, ReflectionListsEveryService) {
  // ServerReflectionRequest.list_services is field 7.
  const std::string services = Call(unix_,
                                    "/grpc.reflection.v1alpha.ServerReflection/"
                                    "ServerReflectionInfo",
                                    "\x3a\x01*");
  for (const char* name : {"Session", "Device", "Compile", "Object", "Command",
                           "Transfer", "Collection", "Admin"}) {
    EXPECT_TRUE(absl::StrContains(
        services, absl::StrCat("holdfast.v1.", name, "Service")))
        << name;
  }
}

}  // namespace
}  // namespace holdfast
