// SPDX-License-Identifier: Apache-2.0
#include "client/cli/cuda_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

class CudaFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = testing::TempDir() + "/cuda-folder-XXXXXX";
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    root_ = fs::canonical(made);
    unsetenv("HOLDFAST_SOFTWARE_DRIVER");
    unsetenv("HOLDFAST_LIBCUDA");
  }
  void TearDown() override { fs::remove_all(root_); }

  // An empty file with the folders that it needs.
  fs::path Touch(const fs::path& file) {
    fs::create_directories(file.parent_path());
    std::ofstream(file).flush();
    return file;
  }

  absl::StatusOr<std::string> Find() {
    return FindCudaFolder(library_, root_ / "bin", root_ / "cache");
  }

  CudaLibrary library_ = CudaLibrary::kSoftware;
  fs::path root_;
};

TEST_F(CudaFolderTest, APackagesFolderIsTaken) {
  fs::create_directories(root_ / "bin");
  Touch(root_ / "lib/holdfast/libholdfast_software.so");
  Touch(root_ / "lib/holdfast/cpu/libcuda.so.1");
  const auto folder = Find();
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(*folder, root_ / "lib/holdfast/cpu");
}

TEST_F(CudaFolderTest, ADriverBesideTheProgramGetsAFolderOfLinks) {
  const fs::path driver = Touch(root_ / "bin/libholdfast_software.so");
  const auto folder = Find();
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(fs::canonical(fs::path(*folder) / "libcuda.so.1"), driver);
  EXPECT_EQ(fs::canonical(fs::path(*folder) / "libcuda.so"), driver);
  EXPECT_EQ(*Find(), *folder) << "it stays";
}

TEST_F(CudaFolderTest, TheRuntimeIsLinkedBesideTheDriver) {
  Touch(root_ / "bin/libholdfast_software.so");
  const fs::path runtime = Touch(root_ / "bin/cuda/libcudart.so.13");
  const auto folder = Find();
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(fs::canonical(fs::path(*folder) / "libcudart.so.13"), runtime);
}

TEST_F(CudaFolderTest, ADriverThatWasReplacedIsLinkedAgain) {
  Touch(root_ / "bin/libholdfast_software.so");
  const auto folder = Find();
  ASSERT_TRUE(folder.ok()) << folder.status();
  const fs::path link = fs::path(*folder) / "libcuda.so.1";
  fs::remove(link);
  fs::create_symlink("/nowhere", link);
  ASSERT_TRUE(Find().ok());
  EXPECT_TRUE(fs::exists(link));
}

TEST_F(CudaFolderTest, WithoutADriverThePackageIsNamed) {
  fs::create_directories(root_ / "bin");
  const absl::Status status = Find().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("holdfast-cpu"), std::string::npos) << status;
}

TEST_F(CudaFolderTest, TheClientsLibraryIsAnotherOne) {
  library_ = CudaLibrary::kClient;
  Touch(root_ / "lib/holdfast/cpu/libcuda.so.1");
  fs::create_directories(root_ / "bin");
  EXPECT_EQ(Find().status().code(), absl::StatusCode::kNotFound);
  Touch(root_ / "lib/holdfast/cuda/libcuda.so.1");
  const auto folder = Find();
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(*folder, root_ / "lib/holdfast/cuda");
}

TEST_F(CudaFolderTest, ALibraryOfTheBuildTreeIsLinked) {
  library_ = CudaLibrary::kClient;
  fs::create_directories(root_ / "bin");
  const fs::path driver = Touch(root_ / "cuda/libcuda.so.1");
  const auto folder = Find();
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(fs::canonical(fs::path(*folder) / "libcuda.so"), driver);
}

}  // namespace
}  // namespace holdfast::cli
