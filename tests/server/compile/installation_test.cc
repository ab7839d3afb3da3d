// SPDX-License-Identifier: Apache-2.0
#include "server/compile/installation.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast {
namespace {

namespace fs = std::filesystem;

class InstallationTest : public testing::Test {
 protected:
  InstallationTest() {
    char name[] = "/tmp/holdfast-installation-XXXXXX";
    directory_ = mkdtemp(name);
    library_ = directory_ + "/libcompiler.so";
    WriteFile(library_, "one compiler");
  }
  ~InstallationTest() override { fs::remove_all(directory_); }

  static void WriteFile(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }

  std::string Cache() const { return directory_ + "/cache"; }
  std::string Note() const { return Cache() + "/compilers"; }

  internal::Installation Installed() const {
    internal::Installation installation;
    installation.set_identity("Compiler 1.0");
    installation.add_files(library_);
    installation.set_state(InstallationState({library_}));
    return installation;
  }
  void Remember() const {
    ASSERT_TRUE(WriteInstallation(Cache(), Installed()).ok());
    ASSERT_EQ(Known(), "Compiler 1.0");
  }
  std::string Known() const { return ReadInstallation(Cache()).identity(); }

  std::string directory_;
  std::string library_;
};

TEST_F(InstallationTest, WhatIsInstalledIsKnownToTheNextDaemon) {
  EXPECT_EQ(Known(), "");
  Remember();
  EXPECT_EQ(fs::status(Cache()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(Note()).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(InstallationTest, TheCompilersOfThisMachineAreDescribed) {
  const auto compiler = compile::Compiler::Load({});
  ASSERT_TRUE(compiler->status().ok());
  const internal::Installation installed = DescribeInstallation(*compiler);
  EXPECT_NE(installed.identity().find(compiler->version()), std::string::npos);
  ASSERT_FALSE(installed.state().empty());
  ASSERT_TRUE(WriteInstallation(Cache(), installed).ok());
  EXPECT_EQ(Known(), installed.identity());
}

TEST_F(InstallationTest, AnotherCompilerInTheSamePlaceIsNotTheOneKnown) {
  Remember();
  WriteFile(library_, "another compiler");
  EXPECT_EQ(Known(), "");
}

// Same size, same time of change: what an installer may do.
TEST_F(InstallationTest, NeitherIsAFileThatLooksLikeItsPredecessor) {
  Remember();
  const auto time = fs::last_write_time(library_);
  const std::string next = library_ + ".next";
  WriteFile(next, "two compiler");
  fs::last_write_time(next, time);
  fs::rename(next, library_);
  EXPECT_EQ(Known(), "");
}

TEST_F(InstallationTest, ARemovedCompilerIsNotKnown) {
  Remember();
  fs::remove(library_);
  EXPECT_EQ(Known(), "");
  EXPECT_EQ(InstallationState({library_}), "");
}

TEST_F(InstallationTest, TheEnvironmentDecidesWhichOneIsLoaded) {
  Remember();
  const char* const before = getenv("CUDA_HOME");
  const std::string home = before == nullptr ? "" : before;
  setenv("CUDA_HOME", directory_.c_str(), 1);
  EXPECT_EQ(Known(), "");
  if (before == nullptr) {
    unsetenv("CUDA_HOME");
  } else {
    setenv("CUDA_HOME", home.c_str(), 1);
  }
  EXPECT_EQ(Known(), "Compiler 1.0");
}

// A library that appears in a place that is looked at before.
TEST_F(InstallationTest, PlacesThatAreSearchedMayNotChange) {
  const std::string place = directory_ + "/lib64";
  setenv("LD_LIBRARY_PATH", place.c_str(), 1);
  Remember();
  fs::create_directory(place);
  EXPECT_EQ(Known(), "");
  // Times are as coarse as the kernel's tick.
  fs::last_write_time(place,
                      fs::last_write_time(place) - std::chrono::hours(1));
  Remember();
  WriteFile(place + "/libnvrtc.so.13", "");
  EXPECT_EQ(Known(), "");
  unsetenv("LD_LIBRARY_PATH");
}

TEST_F(InstallationTest, ANoteThatOthersCouldHaveWrittenIsNotBelieved) {
  Remember();
  chmod(Note().c_str(), 0620);
  EXPECT_EQ(Known(), "");
  chmod(Note().c_str(), 0600);
  chmod(Cache().c_str(), 0770);
  EXPECT_EQ(Known(), "");
  EXPECT_FALSE(WriteInstallation(Cache(), Installed()).ok());
}

TEST_F(InstallationTest, ADamagedNoteTellsNothingAndIsReplaced) {
  Remember();
  for (const char* damaged : {"", "\xff\xff\xff", "compilers"}) {
    WriteFile(Note(), damaged);
    EXPECT_EQ(Known(), "");
  }
  Remember();
  fs::remove(Note());
  fs::create_symlink(library_, Note());
  EXPECT_EQ(Known(), "");
}

// A worker that could not look at its files.
TEST_F(InstallationTest, WhatHasNoStateIsNeverKnown) {
  Remember();
  ASSERT_TRUE(WriteInstallation(Cache(), internal::Installation()).ok());
  EXPECT_EQ(Known(), "");
}

}  // namespace
}  // namespace holdfast
