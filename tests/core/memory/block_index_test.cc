// SPDX-License-Identifier: Apache-2.0
#include "core/memory/block_index.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace holdfast::memory {
namespace {

TEST(BlockIndexTest, TakesTheSmallestThatFitsAndTheLowestOfEquals) {
  BlockIndex index;
  index.AddSpan(1, 100);
  index.AddSpan(2, 40);
  index.AddSpan(3, 40);
  EXPECT_EQ(index.Allocate(30), (Block{2, 0, 30}));
  EXPECT_EQ(index.Allocate(10), (Block{2, 30, 10}));
  EXPECT_EQ(index.Allocate(50), (Block{1, 0, 50}));
  EXPECT_EQ(index.Allocate(51), std::nullopt);
  EXPECT_EQ(index.free_bytes(), 90u);
  EXPECT_EQ(index.largest_free(), 50u);
}

TEST(BlockIndexTest, NeighboursCoalesceButNotAcrossSpans) {
  BlockIndex index;
  index.AddSpan(1, 30);
  index.AddSpan(2, 30);
  std::vector<Block> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(*index.Allocate(10));
  EXPECT_EQ(index.largest_free(), 0u);
  // Middle, right, left of the first span; then all of the second.
  for (const int i : {1, 2, 0, 5, 3, 4}) index.Free(blocks[i]);
  EXPECT_TRUE(index.IsFree(1));
  EXPECT_TRUE(index.IsFree(2));
  EXPECT_EQ(index.largest_free(), 30u);
}

TEST(BlockIndexTest, AllocateAtTakesExactlyWhatIsFree) {
  BlockIndex index;
  index.AddSpan(1, 100);
  EXPECT_TRUE(index.AllocateAt({1, 20, 30}));
  EXPECT_FALSE(index.AllocateAt({1, 40, 20}));  // Overlaps.
  EXPECT_FALSE(index.AllocateAt({1, 90, 20}));  // Beyond the end.
  EXPECT_FALSE(index.AllocateAt({2, 0, 10}));   // No such span.
  EXPECT_FALSE(index.AllocateAt({1, 60, ~uint64_t{0}}));
  EXPECT_TRUE(index.AllocateAt({1, 0, 20}));
  EXPECT_TRUE(index.AllocateAt({1, 50, 50}));
  EXPECT_EQ(index.free_bytes(), 0u);
}

TEST(BlockIndexTest, ARemovedSpanIsNeverHandedOut) {
  BlockIndex index;
  index.AddSpan(1, 100);
  index.AddSpan(2, 100);
  EXPECT_TRUE(index.IsFree(1));
  index.RemoveSpan(1);
  EXPECT_FALSE(index.IsFree(1));
  EXPECT_EQ(index.Allocate(100), (Block{2, 0, 100}));
  EXPECT_EQ(index.Allocate(1), std::nullopt);
}

// Against a model that knows of each unit of each span whether it is in use.
class Model {
 public:
  explicit Model(const std::map<uint32_t, uint64_t>& spans) {
    for (const auto& [span, size] : spans) used_[span].resize(size);
  }

  void Set(const Block& block, bool used) {
    auto& units = used_.at(block.span);
    ASSERT_LE(block.offset + block.size, units.size());
    for (uint64_t i = 0; i < block.size; ++i) {
      ASSERT_NE(units[block.offset + i], used) << "unit " << block.offset + i;
      units[block.offset + i] = used;
    }
  }

  // The smallest run of free units that holds `size`; 0 if there is none.
  uint64_t BestFit(uint64_t size) const {
    uint64_t best = 0;
    for (const uint64_t run : Runs()) {
      if (run >= size && (best == 0 || run < best)) best = run;
    }
    return best;
  }

  std::vector<uint64_t> Runs() const {
    std::vector<uint64_t> runs;
    for (const auto& [span, units] : used_) {
      uint64_t run = 0;
      for (const bool used : units) {
        if (!used) ++run;
        if (used && run > 0) runs.push_back(std::exchange(run, 0));
      }
      if (run > 0) runs.push_back(run);
    }
    return runs;
  }

 private:
  std::map<uint32_t, std::vector<bool>> used_;
};

TEST(BlockIndexTest, AgreesWithAModelOverRandomUse) {
  const std::map<uint32_t, uint64_t> spans = {{1, 257}, {7, 64}, {9, 500}};
  std::mt19937 random(20260117);
  for (int round = 0; round < 20; ++round) {
    BlockIndex index;
    Model model(spans);
    for (const auto& [span, size] : spans) index.AddSpan(span, size);
    std::vector<Block> live;
    for (int step = 0; step < 500; ++step) {
      if (!live.empty() && random() % 2 == 0) {
        std::swap(live[random() % live.size()], live.back());
        index.Free(live.back());
        model.Set(live.back(), false);
        live.pop_back();
      } else {
        const uint64_t size = 1 + random() % 60;
        const uint64_t fit = model.BestFit(size);
        const auto block = index.Allocate(size);
        ASSERT_EQ(block.has_value(), fit != 0);
        if (!block.has_value()) continue;
        ASSERT_EQ(block->size, size);
        model.Set(*block, true);
        live.push_back(*block);
      }
      const auto runs = model.Runs();
      uint64_t free = 0;
      for (const uint64_t run : runs) free += run;
      ASSERT_EQ(index.free_bytes(), free);
      ASSERT_EQ(index.largest_free(),
                runs.empty() ? 0 : *std::max_element(runs.begin(), runs.end()));
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace holdfast::memory
