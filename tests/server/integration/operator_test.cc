// SPDX-License-Identifier: Apache-2.0
//
// An operator's acts on a daemon and its sessions.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <future>
#include <string>

#include "holdfast/v1/admin.grpc.pb.h"
#include "tests/server/integration/daemon_fixture.h"

namespace holdfast {
namespace {

class OperatorTest : public DaemonTest {
 protected:
  static grpc::Status End(const ChannelPtr& channel, const std::string& session,
                          const std::string& reason = "") {
    grpc::ClientContext context;
    v1::EndSessionRequest request;
    request.set_session_id(session);
    request.set_reason(reason);
    v1::EndSessionResponse response;
    return v1::AdminService::NewStub(channel)->EndSession(&context, request,
                                                          &response);
  }

  static grpc::Status Drain(const ChannelPtr& channel,
                            const v1::DrainRequest& request,
                            v1::DrainResponse* response) {
    grpc::ClientContext context;
    return v1::AdminService::NewStub(channel)->Drain(&context, request,
                                                     response);
  }

  // Returns how the daemon answers a new session. A session that opens is
  // closed again, so that no drain waits for it.
  StatusCode TryToOpen() {
    const auto sessions = v1::SessionService::NewStub(unix_);
    grpc::ClientContext context;
    v1::OpenSessionRequest request;
    request.set_protocol_version(1);
    v1::OpenSessionResponse response;
    const StatusCode code =
        sessions->OpenSession(&context, request, &response).error_code();
    if (code != StatusCode::OK) return code;
    grpc::ClientContext closing;
    closing.AddMetadata(kSessionTokenKey.name,
                        absl::BytesToHexString(response.token()));
    v1::CloseSessionResponse closed;
    EXPECT_TRUE(sessions->CloseSession(&closing, {}, &closed).ok());
    return code;
  }
};

TEST_F(OperatorTest, EndedSessionIsGoneAndItsClientIsToldWhy) {
  TestSession session(tcp_), other(tcp_);
  const std::string id = session.opened().session_id();
  const pid_t executor = ExecutorPid(session);
  ASSERT_TRUE(End(unix_, id, "the device is needed").ok());
  EXPECT_EQ(session.AwaitEnd(),
            "an operator has ended it: the device is needed");
  EXPECT_EQ(kill(executor, 0), -1);
  EXPECT_EQ(session.Run(tcp_).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(End(unix_, id).error_code(), StatusCode::NOT_FOUND);
  EXPECT_TRUE(other.Run(tcp_).ok());
}

TEST_F(OperatorTest, OthersMayNeitherEndNorDrain) {
  TestSession session(tcp_);
  EXPECT_EQ(End(tcp_, session.opened().session_id()).error_code(),
            StatusCode::PERMISSION_DENIED);
  v1::DrainResponse response;
  EXPECT_EQ(Drain(tcp_, {}, &response).error_code(),
            StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(session.Run(tcp_).ok());
  TestSession next(tcp_);
  EXPECT_TRUE(next.Run(tcp_).ok());
}

TEST_F(OperatorTest, OverlongReasonIsRefused) {
  TestSession session(unix_);
  EXPECT_EQ(End(unix_, session.opened().session_id(), std::string(257, 'x'))
                .error_code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(session.Run(unix_).ok());
}

TEST_F(OperatorTest, DrainRefusesNewSessionsUntilItIsTakenBack) {
  TestSession session(unix_);
  v1::DrainRequest request;
  request.mutable_timeout();
  v1::DrainResponse response;
  ASSERT_TRUE(Drain(unix_, request, &response).ok());
  EXPECT_EQ(response.sessions_left(), 1u);
  EXPECT_EQ(TryToOpen(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(session.Run(unix_).ok());
  request.set_stop(true);
  ASSERT_TRUE(Drain(unix_, request, &response).ok());
  EXPECT_EQ(TryToOpen(), StatusCode::OK);
}

TEST_F(OperatorTest, DrainWaitsForTheLastSession) {
  TestSession session(unix_);
  v1::DrainResponse response;
  auto drained = std::async(std::launch::async,
                            [&] { return Drain(unix_, {}, &response); });
  while (TryToOpen() != StatusCode::UNAVAILABLE) usleep(1000);
  session.Close();
  const grpc::Status status = drained.get();
  EXPECT_TRUE(status.ok()) << Text(status);
  EXPECT_EQ(response.sessions_left(), 0u);
}

TEST_F(OperatorTest, StoppedDrainLetsWaitersGo) {
  TestSession session(unix_);
  v1::DrainResponse response, none;
  auto drained = std::async(std::launch::async,
                            [&] { return Drain(unix_, {}, &response); });
  while (TryToOpen() != StatusCode::UNAVAILABLE) usleep(1000);
  v1::DrainRequest stop;
  stop.set_stop(true);
  ASSERT_TRUE(Drain(unix_, stop, &none).ok());
  EXPECT_TRUE(drained.get().ok());
  EXPECT_GE(response.sessions_left(), 1u);
}

TEST_F(OperatorTest, SigtermEndsADrainThatWaits) {
  TestSession session(unix_);
  v1::DrainResponse response;
  auto drained = std::async(std::launch::async,
                            [&] { return Drain(unix_, {}, &response); });
  while (TryToOpen() != StatusCode::UNAVAILABLE) usleep(1000);
  kill(daemon_.pid(), SIGTERM);
  // Two that are pending at once are one signal, and the daemon then waits for
  // its --drain-timeout: right as well, but slow.
  usleep(200'000);
  kill(daemon_.pid(), SIGTERM);
  drained.get();
  EXPECT_EQ(daemon_.Wait(), 0);
}

}  // namespace
}  // namespace holdfast
