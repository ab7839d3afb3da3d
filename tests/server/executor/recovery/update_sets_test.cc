// SPDX-License-Identifier: Apache-2.0
#include "server/executor/journal/update_sets.h"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::executor {
namespace {

v1::UpdateGraphExec Update(const std::vector<uint32_t>& ids) {
  v1::UpdateGraphExec update;
  update.set_graph_exec(7);
  for (const uint32_t id : ids) {
    v1::GraphNodeUpdate& each = *update.mutable_nodes()->add_nodes();
    each.set_id(id);
    each.mutable_node()->mutable_empty();
  }
  return update;
}

TEST(UpdateSetsTest, TheFirstSetsOfAGraphAreStepsOfTheirOwn) {
  UpdateSets sets;
  for (uint32_t i = 0; i < UpdateSets::kMaxSets; ++i) {
    EXPECT_TRUE(sets.IsOneStep(Update({i, i + 1})));
  }
  EXPECT_FALSE(sets.IsOneStep(Update({100, 101})));
  EXPECT_TRUE(sets.IsOneStep(Update({0, 1})));
  EXPECT_TRUE(sets.IsOneStep(Update({100})));
  sets.Forget(7);
  EXPECT_TRUE(sets.IsOneStep(Update({100, 101})));
}

TEST(UpdateSetsTest, OtherUpdatesHaveOneStepForEachNode) {
  UpdateSets sets;
  v1::UpdateGraphExec nested = Update({1, 2});
  nested.mutable_nodes()->mutable_nodes(1)->add_within(3);
  EXPECT_FALSE(sets.IsOneStep(nested));
  v1::UpdateGraphExec mixed = Update({1, 2});
  mixed.mutable_nodes()->mutable_nodes(0)->set_enabled(true);
  EXPECT_FALSE(sets.IsOneStep(mixed));
  EXPECT_FALSE(sets.IsOneStep(
      Update(std::vector<uint32_t>(UpdateSets::kMaxNodes + 1, 1))));
}

}  // namespace
}  // namespace holdfast::executor
