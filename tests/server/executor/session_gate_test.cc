// SPDX-License-Identifier: Apache-2.0
#include "server/executor/session/session_gate.h"

#include <stop_token>
#include <thread>

#include "absl/time/time.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::executor {
namespace {

using holdfast::testing::StatusIs;

TEST(SessionGateTest, WorkWaitsUntilTheGateIsOpened) {
  SessionGate gate;
  ASSERT_TRUE(gate.Close(absl::InfiniteFuture()));
  std::thread bringer([&] { EXPECT_OK(gate.Enter({}).status()); });
  gate.Open();
  bringer.join();
}

TEST(SessionGateTest, ACancelledCallDoesNotWaitForTheGate) {
  SessionGate gate;
  ASSERT_TRUE(gate.Close(absl::InfiniteFuture()));
  std::stop_source call;
  std::thread bringer([&] {
    EXPECT_THAT(gate.Enter(call.get_token()).status(),
                StatusIs(absl::StatusCode::kCancelled, ""));
  });
  call.request_stop();
  bringer.join();
}

TEST(SessionGateTest, TheEndTellsItsReasonToAllWhoWait) {
  SessionGate gate;
  ASSERT_TRUE(gate.Close(absl::InfiniteFuture()));
  std::thread bringer([&] {
    EXPECT_THAT(gate.Enter({}).status(),
                StatusIs(absl::StatusCode::kUnavailable, "closed"));
  });
  gate.End(absl::UnavailableError("closed"));
  bringer.join();
}

}  // namespace
}  // namespace holdfast::executor
