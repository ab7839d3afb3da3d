// SPDX-License-Identifier: Apache-2.0
#include "core/base/source_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace holdfast {
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

// f(P<A,A>, P<P<A,A>,P<A,A> >, ...): each parameter is two of the one before,
// and the names of 40 of them do not fit in any memory.
TEST(SourceNameTest, NamesThatGrowWithEachReferenceStaySymbols) {
  std::string symbol = "_Z1f1PI1AS0_E";
  const std::string digits = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const char digit : digits) {
    symbol += std::string("S_IS") + digit + "_S" + digit + "_E";
  }
  EXPECT_EQ(SourceName(symbol), "");
  EXPECT_EQ(WithSourceNames("kernel " + symbol), "kernel " + symbol);
  EXPECT_EQ(SourceName(symbol.substr(0, 23)), "f");
}

TEST(SourceNameTest, ParametersAreTheFunctionsAlone) {
  using ::testing::ElementsAre;
  EXPECT_THAT(SourceParameters("_Z1kPKfi"), ElementsAre("float const*", "int"));
  EXPECT_THAT(SourceParameters("_Z5scaleIfEvPT_S0_m"),
              ElementsAre("float*", "float", "unsigned long"));
  EXPECT_THAT(SourceParameters("_Z1kSt4pairIifEi"),
              ElementsAre("std::pair<int, float>", "int"));
  EXPECT_THAT(SourceParameters("_Z1kPFviEi"),
              ElementsAre("void (*)(int)", "int"));
  EXPECT_THAT(SourceParameters("_Z1kv"), ElementsAre());
  EXPECT_THAT(SourceParameters("add"), ElementsAre());
}

TEST(SourceNameTest, SymbolsInATextGetTheirNames) {
  EXPECT_EQ(WithSourceNames("kernel _Z4tbadIfEvPT_, block (0,0,0)"),
            "kernel tbad<float>, block (0,0,0)");
  EXPECT_EQ(WithSourceNames("_Z1pPi and _ZN1a1qEv"), "p and a::q");
}

TEST(SourceNameTest, OtherTextStaysAsItIs) {
  for (const std::string text :
       {"", "kernel add", "_Z", "_Znonsense", "a_Z1pPi", "the last is _Z",
        "the module has _Z1pPi (p), add"}) {
    EXPECT_EQ(WithSourceNames(text), text);
  }
  const std::string long_symbol = "_Z2000" + std::string(2000, 'k') + "v";
  EXPECT_EQ(WithSourceNames(long_symbol), long_symbol);
}

}  // namespace
}  // namespace holdfast
