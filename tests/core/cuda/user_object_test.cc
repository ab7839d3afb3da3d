// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/user_object.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace holdfast::cuda {
namespace {

CUuserObject Handle(uintptr_t value) {
  return reinterpret_cast<CUuserObject>(value);
}

void Count(void* count) { ++*static_cast<int*>(count); }

TEST(UserReferencesTest, AnObjectEndsWithItsLastReference) {
  int ended = 0;
  UserReferences references;
  references.Add(Handle(1), std::make_shared<UserObject>(&ended, Count), 2);
  EXPECT_FALSE(references.Remove(Handle(1), 3));
  EXPECT_TRUE(references.Remove(Handle(1), 1));
  EXPECT_EQ(ended, 0);
  EXPECT_TRUE(references.Remove(Handle(1), 1));
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(references.empty());
}

// An update of a graph drops what the new definition does not refer to: the
// counts of the references do not matter.
TEST(UserReferencesTest, OnlyObjectsThatTheOthersLackStay) {
  int ended = 0;
  UserReferences before, after;
  for (const uintptr_t value : {1, 2}) {
    before.Add(Handle(value), std::make_shared<UserObject>(&ended, Count), 5);
  }
  after.Add(Handle(2), before.Find(Handle(2)), 1);
  before.RemoveObjectsOf(after);
  EXPECT_NE(before.Find(Handle(1)), nullptr);
  EXPECT_EQ(before.Find(Handle(2)), nullptr);
  EXPECT_EQ(ended, 0);
  before = UserReferences();
  EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace holdfast::cuda
