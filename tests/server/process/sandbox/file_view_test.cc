// SPDX-License-Identifier: Apache-2.0
//
// What a confined process is to see of toolkits as they are laid out: libraries
// and headers beside each other, behind links, named with dots. No namespace is
// needed; sandbox_test.cc mounts such a view.
#include "server/process/sandbox/file_view.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;
using Access = VisiblePath::Access;

class FileViewTest : public ::testing::Test {
 protected:
  FileViewTest() {
    char name[] = "/tmp/holdfast-view-XXXXXX";
    root_ = fs::canonical(mkdtemp(name)).string();
    for (const char* folder :
         {"/cuda-13/lib", "/cuda-13/include/cccl", "/etc"}) {
      fs::create_directories(root_ + folder);
    }
  }
  ~FileViewTest() override { fs::remove_all(root_); }

  void Link(const std::string& target, const std::string& path) {
    fs::create_symlink(target, root_ + path);
  }

  // The view of these paths below root_; paths without it.
  struct View {
    std::vector<std::string> mounts;
    std::vector<std::string> links;
  };
  View Plan(const std::vector<std::string>& paths) const {
    std::vector<VisiblePath> files;
    for (const std::string& path : paths) files.push_back({root_ + path});
    const FileView view = PlanFileView(files);
    View plain;
    for (const FileView::Mount& mount : view.mounts) {
      plain.mounts.push_back(mount.path.substr(root_.size()));
    }
    for (const PathLink& link : view.links) {
      plain.links.push_back(link.path.substr(root_.size()));
    }
    return plain;
  }

  using Paths = std::vector<std::string>;
  std::string root_;
};

TEST_F(FileViewTest, FolderBesideAnotherIsMountedHoweverItIsSpelled) {
  for (const char* include :
       {"/cuda-13/lib/../include", "/cuda-13/lib/.././include/",
        "/cuda-13//include", "/cuda-13/include/cccl/.."}) {
    EXPECT_EQ(Plan({"/cuda-13/lib", include}).mounts,
              (Paths{"/cuda-13/include", "/cuda-13/lib"}))
        << include;
  }
}

TEST_F(FileViewTest, FolderBelowAnotherIsMountedOnce) {
  EXPECT_EQ(
      Plan({"/cuda-13/include/cccl", "/cuda-13/include", "/cuda-13/include/"})
          .mounts,
      (Paths{"/cuda-13/include"}));
  // A name that begins like another is not below it.
  fs::create_directory(root_ + "/cuda-13/lib64");
  EXPECT_EQ(Plan({"/cuda-13/lib", "/cuda-13/lib64"}).mounts,
            (Paths{"/cuda-13/lib", "/cuda-13/lib64"}));
}

TEST_F(FileViewTest, LinksOnTheWayAreMadeAgain) {
  Link(root_ + "/etc/alternative", "/cuda");
  Link("../cuda-13", "/etc/alternative");
  const View view = Plan({"/cuda/include"});
  EXPECT_EQ(view.mounts, (Paths{"/cuda-13/include"}));
  EXPECT_EQ(view.links, (Paths{"/cuda", "/etc/alternative"}));
}

// NVIDIA's packages: lib64 is a link to a folder elsewhere, so that lib64/.. is
// not the folder that the text says.
TEST_F(FileViewTest, DotsAreFollowedAfterLinks) {
  fs::create_directories(root_ + "/cuda-13/targets/x86/lib");
  fs::create_directories(root_ + "/cuda-13/targets/x86/include");
  Link("targets/x86/lib", "/cuda-13/lib64");
  EXPECT_EQ(
      Plan({"/cuda-13/lib64", "/cuda-13/lib64/../include"}).mounts,
      (Paths{"/cuda-13/targets/x86/include", "/cuda-13/targets/x86/lib"}));
}

TEST_F(FileViewTest, LinkInsideAMountNeedsItsTargetAlone) {
  fs::create_directories(root_ + "/store/headers");
  Link(root_ + "/store/headers", "/cuda-13/include/more");
  const View view = Plan({"/cuda-13/include", "/cuda-13/include/more"});
  EXPECT_EQ(view.mounts, (Paths{"/cuda-13/include", "/store/headers"}));
  EXPECT_EQ(view.links, Paths());
}

TEST_F(FileViewTest, PathThatAllowsMoreThanItsFolderIsMountedToo) {
  const FileView view =
      PlanFileView({{root_ + "/cuda-13", Access::kRead},
                    {root_ + "/cuda-13/lib", Access::kWrite},
                    {root_ + "/cuda-13/include", Access::kRead}});
  ASSERT_EQ(view.mounts.size(), 2u);
  EXPECT_EQ(view.mounts[0].path, root_ + "/cuda-13");
  EXPECT_TRUE(view.mounts[0].attributes & MOUNT_ATTR_RDONLY);
  EXPECT_EQ(view.mounts[1].path, root_ + "/cuda-13/lib");
  EXPECT_FALSE(view.mounts[1].attributes & MOUNT_ATTR_RDONLY);
}

TEST_F(FileViewTest, MissingPathsAreLeftOut) {
  Link("nowhere", "/broken");
  const View view = Plan({"/none", "/broken/lib", "/cuda-13/lib"});
  EXPECT_EQ(view.mounts, (Paths{"/cuda-13/lib"}));
  EXPECT_EQ(view.links, Paths());
  EXPECT_THAT(ResolvePath(root_ + "/none").status(),
              holdfast::testing::StatusIs(absl::StatusCode::kNotFound, "none"));
}

TEST_F(FileViewTest, LinksInACircleEnd) {
  Link("b", "/a");
  Link("a", "/b");
  EXPECT_FALSE(ResolvePath(root_ + "/a").ok());
  EXPECT_EQ(Plan({"/a", "/cuda-13/lib"}).mounts, (Paths{"/cuda-13/lib"}));
}

TEST_F(FileViewTest, ResolvedPathIsTheKernels) {
  Link("cuda-13/./include/../lib", "/libraries");
  for (const char* path : {"/libraries", "/libraries/..", "/etc/../libraries/.",
                           "/cuda-13/include/cccl/../.."}) {
    const auto resolved = ResolvePath(root_ + path);
    ASSERT_OK(resolved);
    EXPECT_EQ(resolved->real, fs::canonical(root_ + path).string()) << path;
  }
  EXPECT_EQ(ResolvePath("/..")->real, "/");
}

}  // namespace
}  // namespace holdfast
