// SPDX-License-Identifier: Apache-2.0
#include "client/cli/addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AddressesTest, CommasSeparateAddresses) {
  EXPECT_THAT(SplitAddresses("tcp:a:1"), ElementsAre("tcp:a:1"));
  EXPECT_THAT(SplitAddresses("tcp:a:1,unix:/run/b,embedded:"),
              ElementsAre("tcp:a:1", "unix:/run/b", "embedded:"));
  EXPECT_THAT(SplitAddresses(",tcp:a:1,,"), ElementsAre("tcp:a:1"));
  EXPECT_THAT(SplitAddresses(""), IsEmpty());
}

TEST(AddressesTest, CommasOfOptionsAndPathsStay) {
  EXPECT_THAT(SplitAddresses("tls:a:1?ca=c.pem,name=a,tls:b:1?ca=c.pem"),
              ElementsAre("tls:a:1?ca=c.pem,name=a", "tls:b:1?ca=c.pem"));
  EXPECT_THAT(SplitAddresses("embedded:device=cpu,log-level=info,tcp:b:1"),
              ElementsAre("embedded:device=cpu,log-level=info", "tcp:b:1"));
  EXPECT_THAT(SplitAddresses("unix:/tmp/a,b"), ElementsAre("unix:/tmp/a,b"));
}

TEST(AddressesTest, MistakeAfterCommaIsAnAddressOfItsOwn) {
  EXPECT_THAT(SplitAddresses("tcp:a:1,b:2"), ElementsAre("tcp:a:1", "b:2"));
  EXPECT_THAT(SplitAddresses("tls:a:1?ca=c.pem,b:2"),
              ElementsAre("tls:a:1?ca=c.pem", "b:2"));
  EXPECT_THAT(SplitAddresses("nonsense"), ElementsAre("nonsense"));
}

}  // namespace
}  // namespace holdfast::cli
