// SPDX-License-Identifier: Apache-2.0
#include "core/base/address_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "core/base/sanitizer.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using ::holdfast::testing::StatusIs;

constexpr uint64_t kTebibyte = uint64_t{1} << 40;

// With a limit of a TiB, which the process may raise again.
class AddressLimitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // A sanitizer has reserved more already.
    if (kSanitized) GTEST_SKIP();
    getrlimit(RLIMIT_AS, &before_);
    if (before_.rlim_max < 2 * kTebibyte) GTEST_SKIP();
    const rlimit limit = {kTebibyte, before_.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  }
  void TearDown() override {
    if (!kSanitized) setrlimit(RLIMIT_AS, &before_);
  }

  rlimit before_ = {};
};

TEST_F(AddressLimitTest, ALimitBelowTheLeastIsNamedWithWhatToDo) {
  EXPECT_OK(CheckAddressLimit(kTebibyte));
  const absl::Status small = CheckAddressLimit(kTebibyte + 1);
  EXPECT_THAT(small, StatusIs(absl::StatusCode::kResourceExhausted,
                              "1099511627776 bytes of addresses"));
  EXPECT_THAT(small, StatusIs(absl::StatusCode::kResourceExhausted,
                              "`ulimit -v unlimited`"));
}

TEST_F(AddressLimitTest, AnErrorNamesTheLimitThatMayBeItsCause) {
  EXPECT_OK(ExplainAddressLimit(absl::OkStatus()));
  EXPECT_THAT(
      ExplainAddressLimit(absl::InternalError("no place")),
      StatusIs(absl::StatusCode::kInternal, "no place; this process may have"));
}

TEST_F(AddressLimitTest, WithoutALimitAnErrorStaysAsItIs) {
  RaiseAddressLimit();
  rlimit raised = {};
  getrlimit(RLIMIT_AS, &raised);
  EXPECT_EQ(raised.rlim_cur, raised.rlim_max);
  if (raised.rlim_cur != RLIM_INFINITY) GTEST_SKIP();
  EXPECT_EQ(ExplainAddressLimit(absl::InternalError("no place")).message(),
            "no place");
}

}  // namespace
}  // namespace holdfast
