// SPDX-License-Identifier: Apache-2.0
//
// Faults as the protocol tells them.
#include <signal.h>

#include <chrono>

#include "absl/strings/match.h"
#include "core/base/error_detail.h"
#include "core/base/fault_epoch.h"
#include "holdfast/v1/collections.grpc.pb.h"
#include "server/rpc/status_conversion.h"
#include "tests/server/integration/daemon_fixture.h"

namespace holdfast {
namespace {

class RecoveryTest : public DaemonTest {
 protected:
  v1::SessionInfo Info(const TestSession& session) {
    const v1::ListSessionsResponse list = Sessions();
    for (const v1::SessionInfo& info : list.sessions()) {
      if (info.session_id() == session.opened().session_id()) return info;
    }
    return {};
  }

  void Kill(const TestSession& session) {
    ASSERT_EQ(kill(ExecutorPid(session), SIGKILL), 0);
  }

  // The epoch that a refused call names.
  static uint64_t FaultOf(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), StatusCode::ABORTED) << Text(status);
    return FaultEpochOf(FromGrpcStatus(status));
  }
};

TEST_F(RecoveryTest, CallsAreRefusedUntilTheFaultIsAcknowledged) {
  TestSession session(unix_, "", 0, v1::RECOVERY_POLICY_ALWAYS);
  EXPECT_EQ(session.opened().epoch(), 1u);
  ASSERT_TRUE(session.Run(tcp_).ok());
  Kill(session);

  const v1::KeepAliveResponse told = session.AwaitNews();
  EXPECT_EQ(told.fault().epoch(), 1u);
  EXPECT_TRUE(absl::StrContains(told.fault().cause().message(), "SIGKILL"));
  EXPECT_EQ(told.fault().completed_through(), 1u);
  EXPECT_EQ(told.fault().received_through(), 1u);
  EXPECT_EQ(told.epoch(), 1u);
  const v1::KeepAliveResponse ready = session.AwaitNews();
  EXPECT_EQ(ready.epoch(), 2u);
  EXPECT_EQ(Info(session).state(), v1::SessionInfo::STATE_FAULTED);

  // By way of the daemon, and at the executor itself.
  EXPECT_EQ(FaultOf(session.Run(tcp_)), 1u);
  const ChannelPtr direct = grpc::CreateChannel(
      session.opened().local_address(), grpc::InsecureChannelCredentials());
  EXPECT_EQ(FaultOf(session.Run(direct)), 1u);

  v1::AcknowledgeFaultResponse response;
  EXPECT_EQ(FaultOf(session.Acknowledge(7, &response)), 1u);
  const grpc::Status acknowledged = session.Acknowledge(1, &response);
  ASSERT_TRUE(acknowledged.ok()) << Text(acknowledged);
  EXPECT_EQ(response.epoch(), 2u);
  EXPECT_EQ(response.fault().epoch(), 1u);
  EXPECT_TRUE(session.Run(tcp_).ok());
  EXPECT_TRUE(session.Run(direct).ok());
  EXPECT_EQ(Info(session).state(), v1::SessionInfo::STATE_ACTIVE);
  EXPECT_EQ(Info(session).epoch(), 2u);
  EXPECT_EQ(Info(session).faults(), 1u);
  EXPECT_EQ(session.Acknowledge(1, &response).error_code(),
            StatusCode::FAILED_PRECONDITION);
}

TEST_F(RecoveryTest, ASessionThatAsksRecoversWhenItIsTold) {
  TestSession session(unix_, "", 0, v1::RECOVERY_POLICY_ASK);
  ASSERT_TRUE(session.Run(tcp_).ok());
  const pid_t before = ExecutorPid(session);
  Kill(session);
  EXPECT_EQ(session.AwaitNews().fault().epoch(), 1u);
  EXPECT_EQ(Info(session).state(), v1::SessionInfo::STATE_FAULTED);
  EXPECT_EQ(Info(session).epoch(), 1u);
  EXPECT_EQ(Info(session).executor_pid(), before);
  v1::AcknowledgeFaultResponse response;
  ASSERT_TRUE(session.Acknowledge(1, &response).ok());
  EXPECT_EQ(response.epoch(), 2u);
  EXPECT_TRUE(session.Run(tcp_).ok());
}

TEST_F(RecoveryTest, AFaultBeforeTheFirstIsAcknowledgedIsTheOneThatCounts) {
  TestSession session(unix_, "", 0, v1::RECOVERY_POLICY_ALWAYS);
  ASSERT_TRUE(session.Run(tcp_).ok());
  Kill(session);
  EXPECT_EQ(session.AwaitNews().fault().epoch(), 1u);
  EXPECT_EQ(session.AwaitNews().epoch(), 2u);
  Kill(session);
  EXPECT_EQ(session.AwaitNews().fault().epoch(), 2u);
  EXPECT_EQ(session.AwaitNews().epoch(), 3u);
  v1::AcknowledgeFaultResponse response;
  EXPECT_EQ(FaultOf(session.Acknowledge(1, &response)), 2u);
  ASSERT_TRUE(session.Acknowledge(2, &response).ok());
  EXPECT_EQ(response.epoch(), 3u);
  EXPECT_TRUE(session.Run(tcp_).ok());
}

TEST_F(RecoveryTest, AStoppedSessionIsAbortedWithItsReason) {
  TestSession session(unix_);
  ASSERT_TRUE(session.Run(tcp_).ok());
  Kill(session);
  EXPECT_TRUE(absl::StrContains(session.AwaitEnd(), "SIGKILL"));
  v1::AcknowledgeFaultResponse response;
  const grpc::Status status = session.Acknowledge(1, &response);
  EXPECT_EQ(status.error_code(), StatusCode::ABORTED);
  const auto detail = GetErrorDetail(FromGrpcStatus(status));
  ASSERT_TRUE(detail.has_value());
  EXPECT_TRUE(detail->session_lost);
}

// Its claims ended when it was lost, before this one.
TEST_F(RecoveryTest, ALostSessionClaimsNoCollection) {
  TestSession lost(unix_), other(unix_);
  ASSERT_TRUE(lost.Run(tcp_).ok());
  Kill(lost);
  EXPECT_TRUE(absl::StrContains(lost.AwaitEnd(), "SIGKILL"));
  const auto stub = v1::CollectionService::NewStub(unix_);
  v1::ClaimCollectionRequest request;
  request.set_name("weights");
  grpc::ClientContext lost_context, context;
  lost.AddToken(&lost_context);
  lost_context.set_deadline(std::chrono::system_clock::now() +
                            std::chrono::seconds(30));
  const auto claim = stub->ClaimCollection(&lost_context, request);
  v1::ClaimCollectionResponse response;
  while (claim->Read(&response)) {
  }
  EXPECT_EQ(claim->Finish().error_code(), StatusCode::CANCELLED);
  other.AddToken(&context);
  const auto next = stub->ClaimCollection(&context, request);
  ASSERT_TRUE(next->Read(&response));
  EXPECT_TRUE(response.has_write());
  context.TryCancel();
  while (next->Read(&response)) {
  }
  next->Finish();
}

// The new executor dies twice in a row, one time less than is too often.
TEST_F(RecoveryTest, AFaultDuringRecoveryIsRecoveredFrom) {
  TestSession session(unix_, "", 0, v1::RECOVERY_POLICY_ALWAYS);
  ASSERT_TRUE(session.Run(tcp_).ok());
  pid_t last = ExecutorPid(session);
  Kill(session);
  for (int killed = 0; killed < 2;) {
    const v1::SessionInfo info = Info(session);
    ASSERT_NE(info.state(), v1::SessionInfo::STATE_LOST);
    const pid_t now = static_cast<pid_t>(info.executor_pid());
    if (now == last || now <= 0) continue;
    kill(now, SIGKILL);
    last = now;
    ++killed;
  }
  v1::AcknowledgeFaultResponse response;
  uint64_t epoch = 1;
  grpc::Status status = session.Acknowledge(epoch, &response);
  while (!status.ok()) {
    epoch = FaultOf(status);
    ASSERT_NE(epoch, 0u) << Text(status);
    status = session.Acknowledge(epoch, &response);
  }
  EXPECT_TRUE(session.Run(tcp_).ok());
}

TEST_F(RecoveryTest, ClosingWhileItRecoversEndsIt) {
  for (int i = 0; i < 5; ++i) {
    TestSession session(unix_, "", 0, v1::RECOVERY_POLICY_ALWAYS);
    ASSERT_TRUE(session.Run(tcp_).ok());
    Kill(session);
    usleep(static_cast<useconds_t>(i) * 5000);
    EXPECT_TRUE(session.Close().ok());
  }
  EXPECT_EQ(Sessions().sessions_size(), 0);
  TestSession next(unix_);
  EXPECT_TRUE(next.Run(tcp_).ok());
}

}  // namespace
}  // namespace holdfast
