// SPDX-License-Identifier: Apache-2.0
#include "server/config/child_arguments.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace holdfast::server {
namespace {

// The flag's value; empty if there is no such flag.
std::string ValueOf(absl::string_view flag,
                    const std::vector<std::string>& arguments) {
  for (absl::string_view argument : arguments) {
    if (absl::ConsumePrefix(&argument, flag)) return std::string(argument);
  }
  return "";
}

// In mount namespaces behind chroot, an executor cannot tell where its own
// binary lies.
TEST(ChildArgumentsTest, ExecutorsAreToldWhereTheSoftwareDriverIs) {
  const std::string found =
      ValueOf("--software-driver=", ExecutorArguments(Config{}, "executor"));
  EXPECT_TRUE(absl::StartsWith(found, "/")) << found;
  EXPECT_TRUE(std::filesystem::exists(found)) << found;
}

TEST(ChildArgumentsTest, TheOperatorsSoftwareDriverIsPassedOn) {
  Config config;
  config.software_driver = "/somewhere/driver.so";
  for (const char* role : {"executor", "probe"}) {
    EXPECT_EQ(ValueOf("--software-driver=", ExecutorArguments(config, role)),
              config.software_driver);
  }
}

}  // namespace
}  // namespace holdfast::server
