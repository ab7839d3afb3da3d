// SPDX-License-Identifier: Apache-2.0
#include "core/base/read_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"

namespace holdfast {
namespace {

TEST(ReadFileTest, AFileIsReadUpToItsLimitAndNotBeyond) {
  char name[] = "/tmp/holdfast-test-XXXXXX";
  const std::string directory = mkdtemp(name);
  const std::string path = directory + "/file";
  const std::string text("a\0b\n", 4);
  std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(*ReadFile(path, 4), text);
  const absl::Status larger = ReadFile(path, 3).status();
  EXPECT_EQ(larger.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(larger.message(), path + " has more than 3 bytes");
  std::ofstream(path, std::ios::binary | std::ios::trunc);
  EXPECT_EQ(*ReadFile(path, 3), "");
  EXPECT_FALSE(ReadFile(directory, 4).ok());
  std::filesystem::remove_all(directory);
  const absl::Status missing = ReadFile(path, 4).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(missing.message(), path)) << missing;
}

TEST(ReadFileTest, AFileWithoutAnEndIsRefused) {
  EXPECT_EQ(ReadFile("/dev/zero", 1 << 20).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace holdfast
