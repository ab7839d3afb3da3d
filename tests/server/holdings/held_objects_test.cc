// SPDX-License-Identifier: Apache-2.0
#include "server/holdings/held_objects.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace holdfast {
namespace {

using Object = std::shared_ptr<const StoredObject>;

Object MakeObject(const std::string& bytes) {
  const auto writer = ObjectWriter::Create(bytes.size()).value();
  EXPECT_TRUE(writer->Append(bytes).ok());
  return writer->Finish(v1::OBJECT_FORMAT_PTX, {}).value();
}

class HeldObjectsTest : public testing::Test {
 protected:
  HeldObjectsTest() {
    one_kept_.Open(1);
    other_kept_.Open(2);
  }

  ObjectStore store_{1 << 20, /*max_objects=*/3};
  DescriptorStore descriptors_;
  SessionDescriptors one_kept_{descriptors_};
  SessionDescriptors other_kept_{descriptors_};
  HeldObjects one_{one_kept_, store_};
  HeldObjects other_{other_kept_, store_};
};

TEST_F(HeldObjectsTest, ASessionFindsWhatTheStoreHasDropped) {
  const std::string hash = MakeObject("a")->header.sha256();
  one_.Hold(MakeObject("a"));
  EXPECT_FALSE(store_.Has(hash));
  EXPECT_TRUE(one_.Find(hash).ok());
  EXPECT_EQ(other_.Find(hash).status().code(), absl::StatusCode::kNotFound);
}

// Each takes up to three descriptors, of which the daemon may have few.
TEST_F(HeldObjectsTest, AllSessionsTogetherHoldNoMoreThanTheLimit) {
  one_.Hold(MakeObject("a"));
  for (const char* const code : {"b", "c", "d", "e"}) {
    other_.Hold(MakeObject(code));
  }
  EXPECT_EQ(one_.size(), 1u);
  EXPECT_EQ(other_.size(), 2u);
  EXPECT_TRUE(other_.Find(MakeObject("e")->header.sha256()).ok());
  EXPECT_EQ(descriptors_.CopyAll().size(), 6u);
}

TEST_F(HeldObjectsTest, WhatASessionReleasesIsThereForOthers) {
  for (const char* const code : {"a", "b", "c"}) one_.Hold(MakeObject(code));
  one_.Close();
  for (const char* const code : {"d", "e", "f"}) other_.Hold(MakeObject(code));
  EXPECT_EQ(other_.size(), 3u);
}

}  // namespace
}  // namespace holdfast
