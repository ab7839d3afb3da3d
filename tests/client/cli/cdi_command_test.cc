// SPDX-License-Identifier: Apache-2.0
#include "client/cli/cdi_command.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace holdfast::cli {
namespace {

TEST(CdiSpecificationTest, GivesSocketsAndAddressAtTheSamePath) {
  const auto text = CdiSpecification("/srv/holdfast");
  ASSERT_TRUE(text.ok()) << text.status();
  const auto json = nlohmann::json::parse(*text);
  EXPECT_EQ(json["cdiVersion"], "0.5.0");
  EXPECT_EQ(json["kind"], "holdfast.dev/daemon");
  const auto& edits = json["devices"][0]["containerEdits"];
  EXPECT_EQ(edits["env"][0],
            "HOLDFAST_ADDRESS=unix:/srv/holdfast/holdfast.sock");
  EXPECT_EQ(edits["mounts"][0]["hostPath"], "/srv/holdfast");
  EXPECT_EQ(edits["mounts"][0]["containerPath"], "/srv/holdfast");
}

TEST(CdiSpecificationTest, APathThatEndsTheTextStaysAText) {
  const auto text = CdiSpecification("/a\"},{\"b");
  ASSERT_TRUE(text.ok());
  const auto json = nlohmann::json::parse(*text);
  EXPECT_EQ(json["devices"].size(), 1u);
}

TEST(CdiSpecificationTest, ARelativeDirectoryIsRefused) {
  EXPECT_EQ(CdiSpecification("holdfast").status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace holdfast::cli
