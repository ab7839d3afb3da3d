// SPDX-License-Identifier: Apache-2.0
//
// The C++ client library and the daemon's services in one process: between them
// are gRPC and Unix sockets, behind them executors that a test ends as it
// likes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/admin/admin.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/fault.h"
#include "client/cpp/session.h"
#include "tests/server/testing/in_process_daemon.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using testing::InProcessDaemon;
using testing::StatusIs;

// A policy by which this process's user is the tenant "lab".
Policy PolicyOfLab(const v1::Quota& quota) {
  Policy policy;
  policy.tenants.push_back({.name = "lab", .quota = quota});
  policy.tenant_of.users[getuid()] = 0;
  return policy;
}

internal::Fault IllegalAddress() {
  internal::Fault fault;
  fault.mutable_error()->set_code(
      static_cast<int>(absl::StatusCode::kInternal));
  fault.mutable_error()->set_message("an illegal memory access");
  fault.set_kernel("scatter");
  return fault;
}

// Blocks until the daemon has the KeepAlive stream of its only session, over
// which it tells the client what happens; Open does not wait for that.
void AwaitKeepAlive(Daemon& daemon) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (true) {
    ASSERT_LT(absl::Now(), deadline) << "the session has no KeepAlive stream";
    const auto sessions = daemon.Sessions();
    ASSERT_OK(sessions);
    ASSERT_EQ(sessions->size(), 1u);
    if (!sessions->front().has_ends()) return;
    absl::SleepFor(absl::Milliseconds(1));
  }
}

// A daemon with this policy, and a client that is connected to it.
struct Pair {
  explicit Pair(const Policy& policy = {}) : services(policy) {
    auto connected = Daemon::Connect(services.address());
    EXPECT_OK(connected);
    daemon = *std::move(connected);
  }

  absl::StatusOr<std::unique_ptr<Session>> Open(
      const SessionOptions& options = {}) {
    return Session::Open(daemon, options);
  }

  InProcessDaemon services;
  std::shared_ptr<Daemon> daemon;
};

TEST(InProcessTest, ClientOpensASessionUsesItAndClosesIt) {
  Pair pair;
  ASSERT_OK_AND_ASSIGN(const auto session, pair.Open({.name = "trainer"}));
  {
    ASSERT_OK_AND_ASSIGN(const Stream stream,
                         session->device(0).CreateStream());
    EXPECT_OK(stream.Synchronize());
  }
  ASSERT_OK_AND_ASSIGN(const auto listed, pair.daemon->Sessions());
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].session_id(), session->id());
  EXPECT_EQ(listed[0].name(), "trainer");
  EXPECT_EQ(listed[0].client().pid(), getpid());
  EXPECT_OK(session->Close());
  ASSERT_OK_AND_ASSIGN(const auto left, pair.daemon->Sessions());
  EXPECT_TRUE(left.empty());
}

TEST(InProcessTest, SessionOverTheTenantsQuotaIsRefused) {
  v1::Quota quota;
  quota.set_sessions(1);
  Pair pair(PolicyOfLab(quota));
  ASSERT_OK_AND_ASSIGN(auto first, pair.Open());
  EXPECT_THAT(pair.Open(), StatusIs(absl::StatusCode::kResourceExhausted,
                                    "sessions of tenant lab: 1 asked for, 1 "
                                    "are open, the limit is 1"));
  EXPECT_OK(first->Close());
  EXPECT_OK(pair.Open());
}

TEST(InProcessTest, BufferOverTheTenantsQuotaFailsAtTheNextWait) {
  v1::Quota quota;
  quota.set_device_bytes(1 << 20);
  Pair pair(PolicyOfLab(quota));
  ASSERT_OK_AND_ASSIGN(const auto session, pair.Open());
  ASSERT_OK_AND_ASSIGN(const Buffer fits, session->device(0).Allocate(1 << 20));
  EXPECT_OK(session->Synchronize());
  ASSERT_OK_AND_ASSIGN(const Buffer too_much, session->device(0).Allocate(1));
  EXPECT_THAT(session->Synchronize(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "device-memory of tenant lab"));
}

// The executor goes on until the client has been told, so that nothing but the
// KeepAlive stream can tell it.
TEST(InProcessTest, ClientIsToldWhyAnOperatorEndsItsSession) {
  Pair pair;
  absl::Notification told;
  pair.services.SetOnStop([&told] { told.WaitForNotification(); });
  ASSERT_OK_AND_ASSIGN(const auto session, pair.Open());
  AwaitKeepAlive(*pair.daemon);
  if (HasFatalFailure()) return told.Notify();
  auto ended = std::async(std::launch::async, [&] {
    return EndSession(*pair.daemon, session->id(), "the device is needed");
  });
  absl::Status status;
  while (status.ok()) status = session->Synchronize();
  told.Notify();
  EXPECT_OK(ended.get());
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                               "an operator has ended it: the device is "
                               "needed"));
}

TEST(InProcessTest, FaultIsToldOnceAndTheSessionGoesOnInAnotherExecutor) {
  Pair pair;
  ASSERT_OK_AND_ASSIGN(const auto session, pair.Open());
  ASSERT_OK_AND_ASSIGN(const Stream stream, session->device(0).CreateStream());
  ASSERT_OK(session->Synchronize());
  pair.services.executor().Crash(IllegalAddress());
  const absl::Status told = session->Synchronize();
  EXPECT_THAT(told,
              StatusIs(absl::StatusCode::kAborted, "an illegal memory access"));
  const std::optional<v1::FaultReport> report = FaultOf(told);
  ASSERT_TRUE(report.has_value()) << told;
  EXPECT_EQ(report->epoch(), 1u);
  EXPECT_EQ(report->kernel(), "scatter");
  EXPECT_EQ(report->completed_through(), 2u);
  EXPECT_OK(stream.Synchronize());
  ASSERT_OK_AND_ASSIGN(const auto listed, pair.daemon->Sessions());
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].epoch(), 2u);
}

TEST(InProcessTest, SessionThatIsNotToRecoverIsLostWithTheCause) {
  Pair pair;
  ASSERT_OK_AND_ASSIGN(const auto session,
                       pair.Open({.recover = RecoveryPolicy::kNever}));
  ASSERT_OK(session->Synchronize());
  pair.services.executor().Crash(IllegalAddress());
  EXPECT_THAT(session->Synchronize(), StatusIs(absl::StatusCode::kUnavailable,
                                               "an illegal memory access"));
  EXPECT_THAT(session->Synchronize(), StatusIs(absl::StatusCode::kUnavailable,
                                               "an illegal memory access"));
}

}  // namespace
}  // namespace holdfast
