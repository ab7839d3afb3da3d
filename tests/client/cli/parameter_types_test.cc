// SPDX-License-Identifier: Apache-2.0
#include "client/cli/parameter_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ParameterTypesTest, AMangledSymbolTellsThem) {
  EXPECT_THAT(ParameterTypes("_Z5scaleIfEvPT_S0_m", ""),
              ElementsAre("float*", "float", "unsigned long"));
  EXPECT_THAT(ParameterTypes("_Z1pPKiSt4pairIffE", ""),
              ElementsAre("int const*", "std::pair<float, float>"));
  EXPECT_THAT(ParameterTypes("_Z1pv", ""), IsEmpty());
}

TEST(ParameterTypesTest, ElseTheDeclarationDoes) {
  constexpr char kSource[] = R"(
// __global__ void scale(double* x);
__device__ void scale(char* x);
extern "C" __global__ void __launch_bounds__(256) other(int* scale) {}
extern "C" __global__ void scale(const float* __restrict__ x, /* y */ float y,
                                 unsigned int n, Pair p) {}
)";
  EXPECT_THAT(ParameterTypes("scale", kSource),
              ElementsAre("float*", "float", "unsigned int", "Pair"));
  EXPECT_THAT(ParameterTypes("other", kSource), ElementsAre("int*"));
  EXPECT_THAT(ParameterTypes("cale", kSource), IsEmpty());
  EXPECT_THAT(ParameterTypes("none", kSource), IsEmpty());
  EXPECT_THAT(ParameterTypes("scale", ""), IsEmpty());
  EXPECT_THAT(ParameterTypes("scale", "__global__ void scale("), IsEmpty());
}

TEST(ParameterTypesTest, ElementsOfAnotherSizeOrKindDoNotFit) {
  EXPECT_TRUE(Fits(ElementType::kF32, false, "float const*"));
  EXPECT_TRUE(Fits(ElementType::kU32, false, "int*"));
  EXPECT_TRUE(Fits(ElementType::kC64, false, "float*"));
  EXPECT_TRUE(Fits(ElementType::kU16, false, "__nv_bfloat16*"));
  EXPECT_TRUE(Fits(ElementType::kF32, true, "float"));
  EXPECT_FALSE(Fits(ElementType::kF64, false, "float*"));
  EXPECT_FALSE(Fits(ElementType::kI64, false, "int*"));
  EXPECT_FALSE(Fits(ElementType::kI32, false, "float*"));
  EXPECT_FALSE(Fits(ElementType::kI32, true, "float"));
}

TEST(ParameterTypesTest, WhatIsNotKnownFits) {
  for (const char* type : {"void*", "Pair*", "float**", "char*", ""}) {
    EXPECT_TRUE(Fits(ElementType::kF64, false, type)) << type;
  }
  EXPECT_TRUE(Fits(ElementType::kU8, false, "float*"));
  // The daemon compares the sizes.
  EXPECT_TRUE(Fits(ElementType::kF64, false, "float"));
}

}  // namespace
}  // namespace holdfast::cli
