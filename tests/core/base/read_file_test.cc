// SPDX-License-Identifier: Apache-2.0
#include "core/base/read_file.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "core/base/own_user.h"

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

// Drops the capabilities of this thread, without which root has the permissions
// of any other user.
void GiveUpCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  ASSERT_EQ(syscall(SYS_capset, &header, none), 0);
}

// Root, who can, may have written it for a service that cannot.
TEST(ReadFileTest, TheUserWhoMayNotReadIsNamed) {
  const std::string path = testing::TempDir() + "/unreadable";
  std::ofstream(path) << "text";
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  absl::Status refused;
  std::thread([&] {
    GiveUpCapabilities();
    refused = ReadFile(path, 4).status();
  }).join();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "user " + OwnUser()))
      << refused;
}

TEST(ReadFileTest, AFileWithoutAnEndIsRefused) {
  EXPECT_EQ(ReadFile("/dev/zero", 1 << 20).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace holdfast
