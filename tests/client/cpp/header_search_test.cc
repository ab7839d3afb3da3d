// SPDX-License-Identifier: Apache-2.0
//
// The headers that go with a source. tests/client/python compiles such sources.
#include "client/cpp/compile/header_search.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

class HeaderSearchTest : public ::testing::Test {
 protected:
  HeaderSearchTest() {
    char name[] = "/tmp/holdfast-headers-XXXXXX";
    root_ = mkdtemp(name);
    search_.source_name = "k.cu";
  }
  ~HeaderSearchTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const fs::path file = root_ + "/" + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void SearchIn(const std::string& folder) {
    search_.folders.push_back(root_ + "/" + folder);
  }
  SourceWithHeaders Collect(const std::string& source) {
    auto whole = CollectHeaders(source, given_, search_);
    EXPECT_OK(whole);
    return whole.value_or(SourceWithHeaders());
  }

  std::string root_;
  HeaderSearch search_;
  std::map<std::string, std::string> given_;
};

using Texts = std::map<std::string, std::string>;

TEST_F(HeaderSearchTest, HeadersOfHeadersAreFoundInOrderOfTheFolders) {
  Write("first/a.h", "#include <b.h>");
  Write("second/a.h", "#error the first is meant");
  Write("second/b.h", "int b;");
  Write("second/unused.h", "int unused;");
  SearchIn("first");
  SearchIn("none");
  SearchIn("second");
  const SourceWithHeaders whole = Collect("#include \"a.h\"\n#include <b.h>\n");
  EXPECT_EQ(whole.source, "#include \"a.h\"\n#include <b.h>\n");
  EXPECT_EQ(whole.headers,
            (Texts{{"a.h", "#include <b.h>"}, {"b.h", "int b;"}}));
}

// The compiler knows no folders: a file beside another has a name of its own.
TEST_F(HeaderSearchTest, FilesBesideEachOtherFindEachOther) {
  Write("x/tile.h", "  #  include \"config.h\" // x");
  Write("x/config.h", "int x;");
  Write("y/tile.h", "#include \"./config.h\"\n#include \"../common.h\"");
  Write("y/config.h", "int y;");
  Write("common.h", "int common;");
  SearchIn("");
  const SourceWithHeaders whole =
      Collect("#include \"x/tile.h\"\n#include <y/tile.h>");
  EXPECT_EQ(whole.headers.at("x/tile.h"), "  #  include \"x/config.h\" // x");
  EXPECT_EQ(whole.headers.at("y/tile.h"),
            "#include \"y/config.h\"\n#include \"common.h\"");
  EXPECT_EQ(whole.headers.at("x/config.h"), "int x;");
  EXPECT_EQ(whole.headers.at("y/config.h"), "int y;");
  EXPECT_EQ(whole.headers.size(), 5u);
}

TEST_F(HeaderSearchTest, TwoFilesOfOneNameStayTwo) {
  Write("source/config.h", "int beside;");
  Write("include/config.h", "int searched;");
  search_.source_folder = root_ + "/source";
  SearchIn("include");
  const SourceWithHeaders whole =
      Collect("#include \"config.h\"\n#include <config.h>");
  ASSERT_EQ(whole.headers.size(), 2u);
  EXPECT_EQ(whole.source, "#include \"config.h\"\n#include <2/config.h>");
  EXPECT_EQ(whole.headers.at("2/config.h"), "int searched;");
}

TEST_F(HeaderSearchTest, OneFileHasOneNameAndCirclesEnd) {
  Write("a.h", "#pragma once\n#include \"b/../a.h\"");
  fs::create_directory(root_ + "/b");
  SearchIn("");
  const SourceWithHeaders whole =
      Collect("#include \"a.h\"\n#include \"./a.h\"");
  EXPECT_EQ(whole.source, "#include \"a.h\"\n#include \"a.h\"");
  EXPECT_EQ(whole.headers, (Texts{{"a.h", "#pragma once\n#include \"a.h\""}}));
}

TEST_F(HeaderSearchTest, HeadersThatAreAskedForAreSentToo) {
  Write("maybe.h", "");
  SearchIn("");
  EXPECT_EQ(Collect("#if defined(X) || __has_include( <maybe.h>)\n#endif")
                .headers.size(),
            1u);
}

TEST_F(HeaderSearchTest, WhatIsNotFoundIsLeftToTheDaemon) {
  Write("cuda/cuda_fp16.h", "");
  Write("cuda/vector_types.h", "");
  Write("cuda/cccl/nv/target", "");
  Write("cuda/cccl/cub/cub.cuh", "");
  SearchIn("cuda");
  SearchIn("cuda/cccl");
  const std::string source =
      "#include <cuda_fp16.h>\n#include <cub/cub.cuh>\n#include </etc/passwd>\n"
      "#include \"/etc/passwd\"\n#include NAME\n#include <\n#include \"\"\n#";
  const SourceWithHeaders whole = Collect(source);
  EXPECT_EQ(whole.source, source);
  EXPECT_EQ(whole.headers, Texts());
}

TEST_F(HeaderSearchTest, GivenTextsComeFirstAndIncludeFiles) {
  Write("a.h", "#error the given one is meant");
  Write("b.h", "int b;");
  SearchIn("");
  given_ = {{"a.h", "#include <b.h>"}};
  const SourceWithHeaders whole = Collect("#include <a.h>");
  EXPECT_EQ(whole.headers,
            (Texts{{"a.h", "#include <b.h>"}, {"b.h", "int b;"}}));
}

TEST_F(HeaderSearchTest, PreIncludesStandBeforeTheFirstLine) {
  Write("defs.h", "#define N 4");
  Write("include/more.h", "#define M 4");
  SearchIn("include");
  search_.pre_includes = {root_ + "/defs.h", "more.h", "cuda_fp16.h"};
  const SourceWithHeaders whole = Collect("int n = N;");
  EXPECT_EQ(whole.source,
            "#include \"defs.h\"\n#include \"more.h\"\n"
            "#include \"cuda_fp16.h\"\n#line 1 \"k.cu\"\nint n = N;");
  EXPECT_EQ(whole.headers.size(), 2u);
}

TEST_F(HeaderSearchTest, TooMuchIsRefused) {
  Write("large.h", std::string(kMaxCollectedBytes + 1, ' '));
  SearchIn("");
  EXPECT_THAT(CollectHeaders("#include <large.h>", {}, search_).status(),
              holdfast::testing::StatusIs(absl::StatusCode::kResourceExhausted,
                                          "large.h"));
}

}  // namespace
}  // namespace holdfast
