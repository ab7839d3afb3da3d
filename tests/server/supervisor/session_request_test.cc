// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_request.h"

#include <gtest/gtest.h>

#include <string>

#include "server/tenants/tenant.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::supervisor {
namespace {

using ::holdfast::testing::StatusIs;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

v1::OpenSessionRequest Request() {
  v1::OpenSessionRequest request;
  request.set_protocol_version(kProtocolVersion);
  return request;
}

TEST(SessionRequestTest, EachBoundIsAllowedAndOneMoreIsRefused) {
  v1::OpenSessionRequest request = Request();
  request.set_name(std::string(kMaxSessionName, 'n'));
  request.mutable_client()->set_program(std::string(kMaxClientInfoBytes, 'p'));
  request.mutable_client()->set_host(std::string(kMaxClientInfoBytes, 'h'));
  request.mutable_reconnect_grace()->set_seconds(3600);
  for (int i = 0; i < kMaxRequestedDevices; ++i) request.add_devices(0);
  EXPECT_OK(CheckRequest(request));

  v1::OpenSessionRequest over = request;
  over.mutable_name()->push_back('n');
  EXPECT_THAT(CheckRequest(over), StatusIs(kInvalid, "name has 129 bytes"));
  over = request;
  over.mutable_client()->mutable_program()->push_back('p');
  EXPECT_THAT(CheckRequest(over), StatusIs(kInvalid, "program has 257 bytes"));
  over = request;
  over.mutable_client()->mutable_host()->push_back('h');
  EXPECT_THAT(CheckRequest(over), StatusIs(kInvalid, "host has 257 bytes"));
  over = request;
  over.mutable_reconnect_grace()->set_nanos(1);
  EXPECT_THAT(CheckRequest(over), StatusIs(kInvalid, "reconnect_grace"));
  over = request;
  over.add_devices(0);
  EXPECT_THAT(CheckRequest(over), StatusIs(kInvalid, "names 257 devices"));
}

TEST(SessionRequestTest, AClientOfAnotherProtocolIsTold) {
  v1::OpenSessionRequest request = Request();
  request.set_protocol_version(kProtocolVersion + 1);
  EXPECT_THAT(CheckRequest(request), StatusIs(kInvalid, "protocol version"));
}

TEST(SessionRequestTest, ASessionLivesAsLongAsTheLongerOfGraceAndDetachment) {
  v1::OpenSessionRequest request = Request();
  request.mutable_reconnect_grace()->set_seconds(30);
  EXPECT_FALSE(IsDetachable(request));
  EXPECT_EQ(*LifetimeOf(request, absl::ZeroDuration()), absl::Seconds(30));
  request.mutable_detached_lifetime()->set_seconds(20);
  EXPECT_TRUE(IsDetachable(request));
  EXPECT_EQ(*LifetimeOf(request, absl::Seconds(20)), absl::Seconds(30));
  request.mutable_detached_lifetime()->set_seconds(40);
  EXPECT_EQ(*LifetimeOf(request, absl::Seconds(40)), absl::Seconds(40));
  EXPECT_THAT(LifetimeOf(request, absl::Seconds(39)),
              StatusIs(kInvalid, "the daemon allows 39s"));
  EXPECT_THAT(LifetimeOf(request, absl::ZeroDuration()),
              StatusIs(kInvalid, "--detached-session-limit"));
}

TEST(SessionRequestTest, TheShortestTimeLimitOfKernelsHoldsAndIsNamed) {
  const Tenant none({.name = "uid 1"});
  const Tenant limited(
      {.name = "uid 1", .kernel_time_limit = absl::Seconds(20)});
  v1::OpenSessionRequest request = Request();
  internal::Assign assign;
  ASSERT_OK(SetKernelTimeLimit(request, none, absl::ZeroDuration(), &assign));
  EXPECT_EQ(assign.kernel_time_limit_ns(), 0u);
  ASSERT_OK(SetKernelTimeLimit(request, none, absl::Seconds(30), &assign));
  EXPECT_EQ(assign.kernel_time_limit_set_by(), "--kernel-time-limit");
  ASSERT_OK(SetKernelTimeLimit(request, limited, absl::Seconds(30), &assign));
  EXPECT_EQ(assign.kernel_time_limit_ns(), 20'000'000'000u);
  EXPECT_EQ(assign.kernel_time_limit_set_by(),
            "kernel-time-limit of tenant uid 1 in the policy");
  request.mutable_kernel_time_limit()->set_seconds(10);
  ASSERT_OK(SetKernelTimeLimit(request, limited, absl::Seconds(30), &assign));
  EXPECT_EQ(assign.kernel_time_limit_set_by(),
            "kernel_time_limit of OpenSession");
  request.mutable_kernel_time_limit()->set_seconds(-1);
  EXPECT_THAT(SetKernelTimeLimit(request, limited, absl::Seconds(30), &assign),
              StatusIs(kInvalid, "less than nothing"));
}

}  // namespace
}  // namespace holdfast::supervisor
