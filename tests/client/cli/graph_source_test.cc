// SPDX-License-Identifier: Apache-2.0
#include "client/cli/graph_source.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "absl/status/status.h"
#include "client/cli/file.h"

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

class GraphSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_ / "graph" / "sub");
    for (const char* name : {"outside.cu", "graph/a.cu", "graph/sub/b.cu"}) {
      ASSERT_TRUE(WriteFile((root_ / name).string(), "text").ok());
    }
    fs::create_symlink("sub/b.cu", root_ / "graph" / "inner.cu");
    fs::create_symlink("../outside.cu", root_ / "graph" / "outer.cu");
    fs::create_symlink("..", root_ / "graph" / "up");
  }

  absl::Status Status(const std::string& source) {
    return GraphSource(root_ / "graph", source).status();
  }

  const fs::path root_ = fs::path(::testing::TempDir()) / "graph_source";
};

TEST_F(GraphSourceTest, SourcesBelowTheFolderAreTaken) {
  for (const char* source : {"a.cu", "./a.cu", "sub/b.cu", "inner.cu"}) {
    const auto path = GraphSource(root_ / "graph", source);
    ASSERT_TRUE(path.ok()) << path.status();
    EXPECT_TRUE(fs::exists(*path)) << *path;
  }
}

TEST_F(GraphSourceTest, SourcesElsewhereAreRefused) {
  for (const std::string& source :
       {std::string("../outside.cu"), std::string("sub/../../outside.cu"),
        (root_ / "graph" / "a.cu").string(), std::string("/etc/passwd"),
        std::string("outer.cu"), std::string("up/outside.cu")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Status(source))) << Status(source);
  }
}

TEST_F(GraphSourceTest, NamesCannotControlTheTerminal) {
  const absl::Status status = Status("no\x1b[31m.cu");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_EQ(status.message().find('\x1b'), absl::string_view::npos);
}

}  // namespace
}  // namespace holdfast::cli
