// SPDX-License-Identifier: Apache-2.0
#include "client/cli/cuda_path_command.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

class CudaPathTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = testing::TempDir() + "/cuda-path-XXXXXX";
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    root_ = fs::canonical(made);
    unsetenv("HOLDFAST_SOFTWARE_DRIVER");
  }
  void TearDown() override { fs::remove_all(root_); }

  // An empty file with the folders that it needs.
  fs::path Touch(const fs::path& file) {
    fs::create_directories(file.parent_path());
    std::ofstream(file).flush();
    return file;
  }

  absl::StatusOr<std::string> Find() {
    return FindCpuDriver(root_ / "bin", root_ / "cache");
  }

  fs::path root_;
};

TEST_F(CudaPathTest, APackagesFolderIsTaken) {
  fs::create_directories(root_ / "bin");
  Touch(root_ / "lib/holdfast/libholdfast_software.so");
  Touch(root_ / "lib/holdfast/cpu/libcuda.so.1");
  const auto folder = Find();
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(*folder, root_ / "lib/holdfast/cpu");
}

TEST_F(CudaPathTest, ADriverBesideTheProgramGetsAFolderOfLinks) {
  const fs::path driver = Touch(root_ / "bin/libholdfast_software.so");
  const auto folder = Find();
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(fs::canonical(fs::path(*folder) / "libcuda.so.1"), driver);
  EXPECT_EQ(fs::canonical(fs::path(*folder) / "libcuda.so"), driver);
  EXPECT_EQ(*Find(), *folder) << "it stays";
}

TEST_F(CudaPathTest, ADriverThatWasReplacedIsLinkedAgain) {
  Touch(root_ / "bin/libholdfast_software.so");
  const auto folder = Find();
  ASSERT_TRUE(folder.ok()) << folder.status();
  const fs::path link = fs::path(*folder) / "libcuda.so.1";
  fs::remove(link);
  fs::create_symlink("/nowhere", link);
  ASSERT_TRUE(Find().ok());
  EXPECT_TRUE(fs::exists(link));
}

TEST_F(CudaPathTest, WithoutADriverThePackageIsNamed) {
  fs::create_directories(root_ / "bin");
  const absl::Status status = Find().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("holdfast-cpu"), std::string::npos) << status;
}

}  // namespace
}  // namespace holdfast::cli
