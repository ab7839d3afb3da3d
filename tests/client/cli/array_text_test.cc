// SPDX-License-Identifier: Apache-2.0
#include "client/cli/array_text.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

TEST(ArrayTextTest, ElementsAreShownByTheirType) {
  const auto text = [](ElementType type, const std::string& bytes) {
    return ElementsText({type, {}, bytes});
  };
  EXPECT_EQ(text(ElementType::kI8, "\x01\xff"), "[1, -1]");
  EXPECT_EQ(text(ElementType::kU8, "\x01\xff"), "[1, 255]");
  EXPECT_EQ(text(ElementType::kBool, std::string("\x01\x00", 2)),
            "[true, false]");
  EXPECT_EQ(text(ElementType::kF32, std::string("\x00\x00\xc0\x3f", 4)),
            "[1.5]");
  EXPECT_EQ(text(ElementType::kC64,
                 std::string("\x00\x00\xc0\x3f\x00\x00\x00\xc0", 8)),
            "[1.5-2j]");
  EXPECT_EQ(text(ElementType::kF64, ""), "[]");
}

TEST(ArrayTextTest, SmallFloatsHaveTheirValues) {
  const auto half = [](const std::string& bytes) {
    return ElementsText({ElementType::kF16, {}, bytes});
  };
  EXPECT_EQ(half(std::string("\x00\x3c\x00\xc0", 4)), "[1, -2]");
  EXPECT_EQ(half(std::string("\x01\x00", 2)), "[5.96046e-08]");
  EXPECT_EQ(half(std::string("\x00\x7c\x00\xfc", 4)), "[inf, -inf]");
  EXPECT_EQ(ElementsText({ElementType::kBF16, {}, std::string("\x80\x3f", 2)}),
            "[1]");
}

TEST(ArrayTextTest, OfManyTheFirstOnesAndTheLastAreShown) {
  const Array array = {ElementType::kU8, {6}, "\x01\x02\x03\x04\x05\x06"};
  EXPECT_EQ(ElementsText(array, 6), "[1, 2, 3, 4, 5, 6]");
  EXPECT_EQ(ElementsText(array, 4), "[1, 2, 3, ..., 6]");
}

}  // namespace
}  // namespace holdfast::cli
