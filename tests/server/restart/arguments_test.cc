// SPDX-License-Identifier: Apache-2.0
#include "server/restart/arguments.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace holdfast {
namespace {

using Arguments = std::vector<std::string>;

TEST(ArgumentsTest, AFlagIsReplacedInEveryForm) {
  for (const Arguments& given :
       {Arguments{"holdfastd", "--keeper", "--device=cpu"},
        Arguments{"holdfastd", "--keeper=true", "--device=cpu"},
        Arguments{"holdfastd", "--device=cpu", "--keeper", "--keeper=true"},
        Arguments{"holdfastd", "--device=cpu"}}) {
    Arguments arguments = given;
    SetFlag("--keeper", /*takes_value=*/false, "false", &arguments);
    EXPECT_EQ(arguments,
              (Arguments{"holdfastd", "--device=cpu", "--keeper=false"}));
  }
}

TEST(ArgumentsTest, AValueGoesWithItsFlag) {
  for (const Arguments& given :
       {Arguments{"holdfastd", "--ready-fd=3", "--device=cpu"},
        Arguments{"holdfastd", "--ready-fd", "3", "--device=cpu"},
        Arguments{"holdfastd", "--device=cpu", "--ready-fd", "3"},
        Arguments{"holdfastd", "--device=cpu", "--ready-fd"}}) {
    Arguments arguments = given;
    ForgetReadyFd(&arguments);
    EXPECT_EQ(arguments,
              (Arguments{"holdfastd", "--device=cpu", "--ready-fd=-1"}));
    // It does not grow from one daemon to the next.
    ForgetReadyFd(&arguments);
    EXPECT_EQ(arguments.size(), 3u);
  }
}

TEST(ArgumentsTest, OthersWithTheSameBeginningStay) {
  Arguments arguments = {"--keeper", "--keeper-of", "--ready-fdx=1"};
  SetFlag("--keeper", /*takes_value=*/false, "false", &arguments);
  ForgetReadyFd(&arguments);
  EXPECT_EQ(arguments, (Arguments{"--keeper", "--keeper-of", "--ready-fdx=1",
                                  "--keeper=false", "--ready-fd=-1"}));
}

}  // namespace
}  // namespace holdfast
