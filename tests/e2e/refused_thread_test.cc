// SPDX-License-Identifier: Apache-2.0
//
// A client whose system allows no more threads, at each thread that a session
// starts.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/session.h"
#include "core/base/error_detail.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/e2e/daemon_process.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/thread_refusal.h"

namespace holdfast::e2e {
namespace {

using ::holdfast::testing::StatusIs;
using ::holdfast::testing::ThreadRefusal;

// A session starts fewer threads, with those of gRPC.
constexpr int kMostThreads = 32;

class RefusedThreadTest : public ::testing::Test {
 protected:
  // Opens sessions while the process may start 0, 1, 2 ... threads, until it
  // may start enough. Expects the error, and that the daemon has no session
  // then but the first one.
  void OpenWithFewThreads(const SessionOptions& options) {
    ASSERT_OK_AND_ASSIGN(const auto first, Session::Open(options));
    const std::shared_ptr<Daemon> daemon = *Daemon::Connect(options.address);
    int allowed = 0;
    for (; allowed < kMostThreads; ++allowed) {
      absl::StatusOr<std::unique_ptr<Session>> session;
      {
        const ThreadRefusal refusal(allowed);
        session = Session::Open(daemon, options);
      }
      if (session.ok()) break;
      EXPECT_THAT(session,
                  StatusIs(absl::StatusCode::kResourceExhausted, "no thread"));
      const auto sessions = daemon->Sessions();
      ASSERT_OK(sessions.status());
      EXPECT_EQ(sessions->size(), 1u) << session.status();
    }
    EXPECT_GT(allowed, 2);
    EXPECT_LT(allowed, kMostThreads);
    EXPECT_OK(first->Synchronize());
  }

  DaemonProcess daemon_;
};

TEST_F(RefusedThreadTest, ALocalSessionIsClosedInTheDaemon) {
  if (!ThreadRefusal::kWorks) GTEST_SKIP();
  OpenWithFewThreads({.address = daemon_.address()});
}

TEST_F(RefusedThreadTest, ASessionThatReconnectsIsClosedInTheDaemon) {
  if (!ThreadRefusal::kWorks) GTEST_SKIP();
  OpenWithFewThreads(
      {.address = daemon_.tcp_address(), .reconnect_grace = absl::Seconds(10)});
}

TEST_F(RefusedThreadTest, ARefusedSessionLeavesNoDescriptorOpen) {
  if (!ThreadRefusal::kWorks) GTEST_SKIP();
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  OpenWithFewThreads({.address = daemon_.address()});
  const auto before = descriptors();
  OpenWithFewThreads({.address = daemon_.address()});
  // gRPC closes its sockets a moment later.
  for (int i = 0; i < 600 && descriptors() > before; ++i) {
    absl::SleepFor(absl::Milliseconds(100));
  }
  EXPECT_LE(descriptors(), before);
}

TEST_F(RefusedThreadTest, ASessionThatCannotRecoverIsLost) {
  if (!ThreadRefusal::kWorks) GTEST_SKIP();
  ASSERT_OK_AND_ASSIGN(const auto session,
                       Session::Open({.address = daemon_.address()}));
  ASSERT_OK(session->Synchronize());
  const auto sessions = session->daemon().Sessions();
  ASSERT_OK(sessions.status());
  ASSERT_EQ(sessions->size(), 1u);
  const ThreadRefusal refusal;
  ASSERT_EQ(kill(static_cast<pid_t>((*sessions)[0].executor_pid()), SIGKILL),
            0);
  const absl::Status status = session->Synchronize();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, "no thread"));
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_TRUE(detail->session_lost);
}

}  // namespace
}  // namespace holdfast::e2e
