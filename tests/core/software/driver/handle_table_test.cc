// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/handle_table.h"

#include <gtest/gtest.h>

#include <memory>

namespace holdfast::software {
namespace {

TEST(HandleTableTest, AHandleThatIsAddedAgainHasOneReference) {
  HandleTable<uint64_t, int> table;
  const auto object = std::make_shared<int>(7);
  const uint64_t handle = table.Add(object);
  table.Retain(handle, object);
  EXPECT_EQ(table.RemoveIf([](int value) { return value == 7; }).size(), 1u);
  EXPECT_EQ(table.Find(handle), nullptr);
  table.AddAs(handle, object);
  EXPECT_EQ(table.Remove(handle), object);
  EXPECT_EQ(table.Find(handle), nullptr);
}

TEST(HandleTableTest, EachReferenceIsRemovedOnce) {
  HandleTable<uint64_t, int> table;
  const auto object = std::make_shared<int>(7);
  const uint64_t handle = table.Add(object);
  table.Retain(handle, object);
  EXPECT_EQ(table.Remove(handle), object);
  EXPECT_EQ(table.Find(handle), object);
  EXPECT_EQ(table.Remove(handle), object);
  EXPECT_EQ(table.Remove(handle), nullptr);
}

}  // namespace
}  // namespace holdfast::software
