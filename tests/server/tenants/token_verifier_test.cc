// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/token_verifier.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/server/testing/token_issuer.h"

namespace holdfast {
namespace {

class TokenVerifierTest : public testing::Test {
 protected:
  TokenRules Rules() const {
    TokenRules rules;
    rules.keys = *ParseTokenKeys(issuer_.public_key());
    rules.issuer = "id";
    rules.audience = "holdfast";
    rules.leeway = absl::ZeroDuration();
    return rules;
  }

  std::string Token(absl::string_view subject, int64_t expires) const {
    return issuer_.Sign(absl::StrCat(
        R"({"iss":"id","aud":"holdfast","sub":")", subject, R"(","nbf":)",
        absl::ToUnixSeconds(now_), R"(,"exp":)", expires, "}"));
  }

  const absl::Time now_ = absl::FromUnixSeconds(1'900'000'000);
  const int64_t expires_ = 1'900'000'100;
  const TokenIssuer issuer_ = TokenIssuer::Ed25519();
  TokenVerifier verifier_{Rules()};
};

TEST_F(TokenVerifierTest, ATokenIsRememberedUntilItExpires) {
  const std::string token = Token("ci", expires_);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(verifier_.Verify(token, now_)->subject, "ci");
    EXPECT_EQ(verifier_.remembered(), 1u);
  }
  EXPECT_EQ(
      verifier_.Verify(token, absl::FromUnixSeconds(expires_)).status().code(),
      absl::StatusCode::kUnauthenticated);
  // The clock was set back behind the token's beginning.
  EXPECT_EQ(verifier_.Verify(token, now_ - absl::Seconds(1)).status().code(),
            absl::StatusCode::kUnauthenticated);
}

TEST_F(TokenVerifierTest, WrongTokensAreNotRemembered) {
  const TokenIssuer other = TokenIssuer::Ed25519();
  std::string token = Token("ci", expires_);
  EXPECT_FALSE(verifier_.Verify(Token("ci", 1'899'999'999), now_).ok());
  EXPECT_FALSE(verifier_.Verify(other.Sign("{}"), now_).ok());
  EXPECT_FALSE(verifier_.Verify(token, now_ - absl::Seconds(1)).ok());
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(verifier_.Verify(absl::StrCat("a.b.", i), now_).ok());
  }
  EXPECT_EQ(verifier_.remembered(), 0u);
  // One that is valid later is so then.
  EXPECT_TRUE(verifier_.Verify(token, now_).ok());
}

TEST_F(TokenVerifierTest, WhatIsRememberedIsBounded) {
  const std::string first = Token("first", expires_ + 100);
  ASSERT_TRUE(verifier_.Verify(first, now_).ok());
  for (size_t i = 1; i < TokenVerifier::kMaxRemembered; ++i) {
    ASSERT_TRUE(
        verifier_.Verify(Token(absl::StrCat("s", i), expires_), now_).ok());
  }
  EXPECT_EQ(verifier_.remembered(), TokenVerifier::kMaxRemembered);
  // Those that have expired make room.
  const absl::Time later = absl::FromUnixSeconds(expires_);
  const std::string next = Token("next", expires_ + 100);
  EXPECT_EQ(verifier_.Verify(next, later)->subject, "next");
  EXPECT_EQ(verifier_.remembered(), 2u);
  EXPECT_EQ(verifier_.Verify(first, later)->subject, "first");
  // If none has, all do, and are verified again.
  for (size_t i = 2; i <= TokenVerifier::kMaxRemembered; ++i) {
    const std::string token = Token(absl::StrCat("t", i), expires_ + 100);
    ASSERT_TRUE(verifier_.Verify(token, later).ok());
  }
  EXPECT_EQ(verifier_.remembered(), 1u);
  EXPECT_EQ(verifier_.Verify(first, later)->subject, "first");
}

}  // namespace
}  // namespace holdfast
