// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/service/service.h"

#include <signal.h>

#include <cstdlib>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::conformance {

void ServiceTest::SetUpTestSuite() {
  const char* address = std::getenv("HOLDFAST_ADDRESS");
  const bool given = address != nullptr && *address != '\0';
  if (driver_ == nullptr) {  // one for all suites
    using cuda::DriverChoice;
    auto driver = cuda::LoadDriver(
        {.choice = given ? DriverChoice::kAuto : DriverChoice::kSoftware});
    ASSERT_OK(driver);
    driver_ = driver->release();
  }
  CUcontext context = nullptr;
  ASSERT_EQ(driver_->api.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver_->api.cuCtxSetCurrent(context), CUDA_SUCCESS);
  auto daemon = Daemon::Connect(given ? address : "embedded:device=cpu");
  ASSERT_OK(daemon);
  daemon_ = new std::shared_ptr<Daemon>(*std::move(daemon));
  auto session = OpenSession();
  ASSERT_OK(session);
  session_ = session->release();
}

void ServiceTest::TearDownTestSuite() {
  delete session_;
  session_ = nullptr;
  delete daemon_;
  daemon_ = nullptr;
}

absl::StatusOr<ServiceTest::Side> ServiceTest::Open(
    const SessionOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(auto session, OpenSession(options));
  HOLDFAST_ASSIGN_OR_RETURN(Stream stream, session->device(0).CreateStream());
  return Side{std::move(session), std::move(stream)};
}

v1::SessionInfo ServiceTest::Info(const Session& session) {
  const auto sessions = daemon().Sessions();
  EXPECT_OK(sessions);
  for (const v1::SessionInfo& info : *sessions) {
    if (info.session_id() == session.id()) return info;
  }
  return {};
}

uint64_t ServiceTest::ReservedBytes() {
  return daemon().ListSessions()->totals().devices(0).reserved_bytes().used();
}

uint64_t ServiceTest::OrphanedBytes() {
  return daemon().ListSessions()->totals().devices(0).orphaned_bytes();
}

bool ServiceTest::Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return false;
}

void ServiceTest::KillExecutor(const Session& session) {
  const auto executor = static_cast<pid_t>(Info(session).executor_pid());
  ASSERT_GT(executor, 1);  // 0 would be this process's own group.
  ASSERT_EQ(kill(executor, SIGKILL), 0);
}

}  // namespace holdfast::conformance
