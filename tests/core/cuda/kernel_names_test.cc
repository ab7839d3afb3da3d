// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/kernel_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::cuda {
namespace {

TEST(KernelNamesTest, KernelsAreListedByBothNames) {
  EXPECT_EQ(DescribeKernels("x<int>", {}), "; the module has no kernel");
  EXPECT_EQ(DescribeKernels("x", {"_Z1pPi", "add"}),
            "; the module has _Z1pPi (p), add");
  const std::vector<std::string> many(100, "k");
  EXPECT_NE(DescribeKernels("x", many).find(" and 68 more"), std::string::npos);
}

TEST(KernelNamesTest, AModuleWithoutKernelsMayComeOfATemplate) {
  EXPECT_EQ(DescribeKernels("scale", {}),
            "; the module has no kernel; if scale is a template, compile it "
            "with a name expression, such as \"scale<float>\"");
}

TEST(KernelNamesTest, ANameOfTheSourceIsExplained) {
  EXPECT_NE(DescribeKernels("p", {"_Z1pPi"}).find("extern \"C\""),
            std::string::npos);
  EXPECT_NE(DescribeKernels("scale", {"_Z5scaleIfEvPT_S0_m"})
                .find("name an instance, scale<float>"),
            std::string::npos);
}

}  // namespace
}  // namespace holdfast::cuda
