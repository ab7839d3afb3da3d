// SPDX-License-Identifier: Apache-2.0
//
//   ASSERT_OK_AND_ASSIGN(auto stream, Stream::Create(context, {}));
//   EXPECT_OK(stream->Synchronize());
//   EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, "no kernel"));
#ifndef HOLDFAST_TESTS_TESTING_STATUS_MATCHERS_H_
#define HOLDFAST_TESTS_TESTING_STATUS_MATCHERS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace holdfast::testing {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << "is " << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// The code, and words that the message has to have.
MATCHER_P2(StatusIs, code, words,
           absl::StrCat("has code ", absl::StatusCodeToString(code),
                        " and says \"", words, "\"")) {
  const absl::Status& status = StatusOf(arg);
  *result_listener << "is " << status.ToString();
  return status.code() == code &&
         absl::StrContains(std::string(status.message()), words);
}

}  // namespace holdfast::testing

#define EXPECT_OK(expression) \
  EXPECT_THAT((expression), ::holdfast::testing::IsOk())
#define ASSERT_OK(expression) \
  ASSERT_THAT((expression), ::holdfast::testing::IsOk())

#define ASSERT_OK_AND_ASSIGN(target, expression)                        \
  ASSERT_OK_AND_ASSIGN_(HOLDFAST_TEST_JOIN_(holdfast_value_, __LINE__), \
                        target, expression)
#define ASSERT_OK_AND_ASSIGN_(value, target, expression) \
  auto value = (expression);                             \
  ASSERT_TRUE(value.ok()) << value.status().ToString();  \
  target = *std::move(value)
#define HOLDFAST_TEST_JOIN_(a, b) HOLDFAST_TEST_JOIN2_(a, b)
#define HOLDFAST_TEST_JOIN2_(a, b) a##b

#endif  // HOLDFAST_TESTS_TESTING_STATUS_MATCHERS_H_
