// SPDX-License-Identifier: Apache-2.0
#include "server/executor/resources/hold_set.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/handle.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {
namespace {

Hold Something() {
  return std::shared_ptr<const void>(std::make_shared<const int>());
}

TEST(HoldSetTest, EachHandleIsNewOnceOnEachDevice) {
  HoldSet set;
  for (int round = 0; round < 2; ++round) {
    // More than any table of recent ones has, of kinds that count up alike.
    for (uint32_t i = 0; i < 100; ++i) {
      for (const HandleKind kind : {HandleKind::kBuffer, HandleKind::kKernel}) {
        const uint64_t handle = Handle{kind, 1, i}.Pack();
        for (const uint32_t device : {0, 1}) {
          EXPECT_EQ(set.Insert(handle, device), round == 0);
          EXPECT_FALSE(set.Insert(handle, device));
        }
      }
    }
  }
}

TEST(HoldSetTest, WhatIsKeptNeedNotBeReleased) {
  const Hold both = Something(), released = Something();
  HoldSet set;
  set.Add(Something());
  set.Add(both);
  std::vector<Hold> holds = {both, released, both};
  set.RemoveKept(&holds);
  EXPECT_EQ(holds, std::vector<Hold>{released});
}

}  // namespace
}  // namespace holdfast::executor
