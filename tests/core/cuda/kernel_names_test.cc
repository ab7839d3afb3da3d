// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/source_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::cuda {
namespace {

TEST(SourceNameTest, IsThatOfTheFunctionAlone) {
  EXPECT_EQ(SourceName("_Z1pPi"), "p");
  EXPECT_EQ(SourceName("_Z5scaleIfEvPT_S0_m"), "scale<float>");
  EXPECT_EQ(SourceName("_ZN1a6reduceINS_4tileILi4EEEEEvPf"),
            "a::reduce<a::tile<4> >");
  EXPECT_EQ(SourceName("_ZN12_GLOBAL__N_11kEi"), "(anonymous namespace)::k");
  EXPECT_EQ(SourceName("add"), "");
  EXPECT_EQ(SourceName("_Z"), "");
  EXPECT_EQ(SourceName("_Znonsense"), "");
}

TEST(SourceNameTest, KernelsAreListedByBothNames) {
  EXPECT_EQ(DescribeKernels("x", {}), "; the module has no kernel");
  EXPECT_EQ(DescribeKernels("x", {"_Z1pPi", "add"}),
            "; the module has _Z1pPi (p), add");
  const std::vector<std::string> many(100, "k");
  EXPECT_NE(DescribeKernels("x", many).find(" and 68 more"), std::string::npos);
}

TEST(SourceNameTest, ANameOfTheSourceIsExplained) {
  EXPECT_NE(DescribeKernels("p", {"_Z1pPi"}).find("extern \"C\""),
            std::string::npos);
  EXPECT_NE(DescribeKernels("scale", {"_Z5scaleIfEvPT_S0_m"})
                .find("name an instance, scale<float>"),
            std::string::npos);
}

}  // namespace
}  // namespace holdfast::cuda
