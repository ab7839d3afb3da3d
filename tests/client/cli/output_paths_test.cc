// SPDX-License-Identifier: Apache-2.0
#include "client/cli/output_paths.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

TEST(OutputPathsTest, FilesLieInTheDirectory) {
  OutputPaths paths("out");
  EXPECT_EQ(*paths.Next("x.npy"), "out/x.npy");
  EXPECT_EQ(*paths.Next("../../etc/y.npy"), "out/y.npy");
  EXPECT_EQ(*paths.Next("/etc/z.npy"), "out/z.npy");
}

TEST(OutputPathsTest, ANameThatComesAgainGetsANumber) {
  OutputPaths paths("out");
  EXPECT_EQ(*paths.Next("x.npy"), "out/x.npy");
  EXPECT_EQ(*paths.Next("x-2.npy"), "out/x-2.npy");
  EXPECT_EQ(*paths.Next("x.npy"), "out/x-3.npy");
  EXPECT_EQ(*paths.Next("x.npy"), "out/x-4.npy");
}

TEST(OutputPathsTest, NamesAreVisibleAndNoOptions) {
  OutputPaths paths("out");
  EXPECT_EQ(*paths.Next(".bashrc"), "out/_bashrc");
  EXPECT_EQ(*paths.Next("-rf.npy"), "out/_rf.npy");
  EXPECT_EQ(*paths.Next("a\x1b[31m.npy"), "out/a_[31m.npy");
  EXPECT_EQ(*paths.Next("\xc3\xbc.npy"), "out/\xc3\xbc.npy");
}

TEST(OutputPathsTest, NoFileIsRefused) {
  OutputPaths paths("out");
  for (const char* file : {"", ".", "..", "a/..", "a/"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(paths.Next(file).status())) << file;
  }
}

}  // namespace
}  // namespace holdfast::cli
