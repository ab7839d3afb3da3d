// SPDX-License-Identifier: Apache-2.0
//
// Assertions and matchers of statuses.
//
//   ASSERT_OK_AND_ASSIGN(auto stream, Stream::Create(context, {}));
//   EXPECT_OK(stream->Synchronize());
//   EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, "no kernel"));
//
// The matchers are GoogleTest's own kind, so that most tests do not include
// gmock, which takes the compiler 1.5 times as long as gtest. A test that needs
// gmock's matchers includes gmock before this header, as an include in angle
// brackets or in alphabetical order does, and then uses gmock's EXPECT_THAT.
#ifndef HOLDFAST_TESTS_TESTING_STATUS_MATCHERS_H_
#define HOLDFAST_TESTS_TESTING_STATUS_MATCHERS_H_

#include <ostream>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace holdfast::testing {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

// Matches an absl::Status or absl::StatusOr that is OK.
class IsOk {
 public:
  using is_gtest_matcher = void;

  template <typename T>
  bool MatchAndExplain(const T& value, std::ostream* explanation) const {
    const absl::Status& status = StatusOf(value);
    if (explanation != nullptr) *explanation << "is " << status;
    return status.ok();
  }
  void DescribeTo(std::ostream* out) const { *out << "is OK"; }
  void DescribeNegationTo(std::ostream* out) const { *out << "is not OK"; }
};

// Matches an absl::Status or absl::StatusOr with this code, and with `words` in
// its message.
class StatusIs {
 public:
  using is_gtest_matcher = void;

  StatusIs(absl::StatusCode code, absl::string_view words)
      : code_(code), words_(words) {}

  template <typename T>
  bool MatchAndExplain(const T& value, std::ostream* explanation) const {
    const absl::Status& status = StatusOf(value);
    if (explanation != nullptr) *explanation << "is " << status;
    return status.code() == code_ &&
           absl::StrContains(status.message(), words_);
  }
  void DescribeTo(std::ostream* out) const { Describe("has", "says", out); }
  void DescribeNegationTo(std::ostream* out) const {
    Describe("does not have", "does not say", out);
  }

 private:
  void Describe(absl::string_view has, absl::string_view says,
                std::ostream* out) const {
    *out << absl::StrCat(has, " code ", absl::StatusCodeToString(code_),
                         " and ", says, " \"", words_, "\"");
  }

  const absl::StatusCode code_;
  const std::string words_;
};

// The predicate format of EXPECT_THAT below.
template <typename T, typename Matcher>
::testing::AssertionResult Matches(const char* text, const char*,
                                   const T& value, const Matcher& matcher) {
  std::ostringstream explanation;
  if (matcher.MatchAndExplain(value, &explanation)) {
    return ::testing::AssertionSuccess();
  }
  std::ostringstream expected;
  matcher.DescribeTo(&expected);
  return ::testing::AssertionFailure()
         << "Value of: " << text << "\nExpected: " << expected.str()
         << "\n  Actual: " << explanation.str();
}

}  // namespace holdfast::testing

#ifndef EXPECT_THAT
#define EXPECT_THAT(value, matcher) \
  EXPECT_PRED_FORMAT2(::holdfast::testing::Matches, value, matcher)
#define ASSERT_THAT(value, matcher) \
  ASSERT_PRED_FORMAT2(::holdfast::testing::Matches, value, matcher)
#endif

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
