// SPDX-License-Identifier: Apache-2.0
#include "core/base/array_layout.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace holdfast {
namespace {

using Shape = std::vector<uint64_t>;
using Strides = std::vector<int64_t>;

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

TEST(ArrayLayoutTest, DenseArrays) {
  EXPECT_EQ(ArrayBytes("F32", Shape{2, 3}).value(), 24u);
  EXPECT_EQ(ArrayBytes("I64", Shape{}).value(), 8u);
  EXPECT_EQ(ArrayBytes("BF16", Shape{0, 7}).value(), 0u);
  EXPECT_EQ(ArrayBytes("F4", Shape{4}).value(), 2u);
}

TEST(ArrayLayoutTest, ShapesThatOverflowAreRefused) {
  EXPECT_FALSE(ArrayBytes("F32", Shape{kMost}).ok());
  EXPECT_FALSE(ArrayBytes("F32", Shape{1ull << 32, 1ull << 32}).ok());
  EXPECT_FALSE(ArrayBytes("F32", Shape(33, 1)).ok());
  EXPECT_FALSE(ArrayBytes("F4", Shape{3}).ok());
  EXPECT_FALSE(ArrayBytes("F33", Shape{1}).ok());
}

TEST(ArrayLayoutTest, ExtentEndsWithTheLastElement) {
  EXPECT_EQ(ArrayExtent("F32", Shape{2, 3}, Strides{}).value(), 24u);
  EXPECT_EQ(ArrayExtent("F32", Shape{2, 3}, Strides{8, 1}).value(), 44u);
  EXPECT_EQ(ArrayExtent("F32", Shape{2, 3}, Strides{0, 0}).value(), 4u);
  EXPECT_EQ(ArrayExtent("F32", Shape{0, 3}, Strides{8, 1}).value(), 0u);
}

TEST(ArrayLayoutTest, StridesThatLieAreRefused) {
  EXPECT_FALSE(ArrayExtent("F32", Shape{2}, Strides{-1}).ok());
  EXPECT_FALSE(ArrayExtent("F32", Shape{2}, Strides{1, 1}).ok());
  EXPECT_FALSE(ArrayExtent("F4", Shape{2}, Strides{2}).ok());
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(ArrayExtent("F32", Shape{2}, Strides{most}).ok());
  EXPECT_FALSE(
      ArrayExtent("U8", Shape{2, 2, 2}, Strides{most, most, most}).ok());
}

}  // namespace
}  // namespace holdfast
