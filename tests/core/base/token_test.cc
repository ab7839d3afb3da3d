// SPDX-License-Identifier: Apache-2.0
#include "core/base/token.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast {
namespace {

TEST(TokenTest, RandomTokensHaveTheSizeAndDiffer) {
  const auto one = RandomToken(16);
  const auto other = RandomToken(16);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(one->size(), 16u);
  EXPECT_NE(*one, *other);
}

TEST(TokenTest, OnlyTheSameBytesAreEqual) {
  EXPECT_TRUE(EqualTokens("", ""));
  EXPECT_TRUE(EqualTokens("0123", "0123"));
  EXPECT_FALSE(EqualTokens("0123", "012"));
  EXPECT_FALSE(EqualTokens("0123", "01234"));
  for (size_t i = 0; i < 4; ++i) {
    std::string wrong = "0123";
    wrong[i] = static_cast<char>(wrong[i] ^ 0x80);
    EXPECT_FALSE(EqualTokens("0123", wrong));
  }
}

}  // namespace
}  // namespace holdfast
