// SPDX-License-Identifier: Apache-2.0
#include "proto/metadata.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

// gRPC ends a process that sends a key with capitals; it keeps "grpc-" for
// itself, and takes values of keys in "-bin" for other bytes than text.
TEST(MetadataTest, KeysAreTextThatGrpcSends) {
  std::set<std::string> names;
  for (const MetadataKey& key : kMetadataKeys) {
    const std::string name = key.name;
    EXPECT_TRUE(names.insert(name).second) << name << " has two rows";
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || c == '-';
    })) << name;
    EXPECT_FALSE(absl::StartsWith(name, "grpc-")) << name;
    EXPECT_FALSE(absl::EndsWith(name, "-bin")) << name;
  }
}

TEST(MetadataTest, TheReadmeHasARowForEachKey) {
  std::ifstream file("proto/README.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const MetadataKey& key : kMetadataKeys) {
    EXPECT_TRUE(
        absl::StrContains(text.str(), absl::StrCat("\n| `", key.name, "` |")))
        << key.name;
  }
}

}  // namespace
}  // namespace holdfast
