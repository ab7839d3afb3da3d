// SPDX-License-Identifier: Apache-2.0
#include "server/executor/resources/handle_table.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "tests/testing/status_matchers.h"

namespace holdfast::executor {
namespace {

using holdfast::testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kStale = absl::StatusCode::kFailedPrecondition;

uint64_t Buffer(uint32_t index, uint32_t generation = 1) {
  return Handle{HandleKind::kBuffer, generation, index}.Pack();
}

class HandleTableTest : public ::testing::Test {
 protected:
  void Put(uint64_t handle, std::string value) {
    ASSERT_OK_AND_ASSIGN(Charge charge, table_.Reserve());
    table_.Put(handle, std::move(value), std::move(charge));
  }

  const std::shared_ptr<Quota> quota_ =
      Quota::Create({.name = "buffers", .unit = "handles", .limit = 2});
  HandleTable<std::string> table_{HandleKind::kBuffer, quota_};
};

TEST_F(HandleTableTest, WhatWasPutIsFoundUntilItIsTaken) {
  ASSERT_OK(table_.CheckNew(Buffer(3)));
  Put(Buffer(3), "three");
  ASSERT_OK_AND_ASSIGN(std::string * found, table_.Find(Buffer(3)));
  EXPECT_EQ(*found, "three");
  ASSERT_OK_AND_ASSIGN(const auto taken, table_.Take(Buffer(3)));
  EXPECT_EQ(taken, "three");
  EXPECT_THAT(table_.Find(Buffer(3)), StatusIs(kStale, "any more"));
}

TEST_F(HandleTableTest, EachForgeryHasItsOwnAnswer) {
  Put(Buffer(3, 7), "three");
  EXPECT_THAT(table_.Find(0), StatusIs(kInvalid, "no buffer given"));
  EXPECT_THAT(table_.Find(Handle{HandleKind::kStream, 7, 3}.Pack()),
              StatusIs(kInvalid, "is not a buffer"));
  EXPECT_THAT(table_.Find(Buffer(3, 0)), StatusIs(kInvalid, "malformed"));
  EXPECT_THAT(table_.Find(Buffer(Handle::kMaxIndex + 1)),
              StatusIs(kInvalid, "malformed"));
  EXPECT_THAT(table_.Find(Buffer(3, 6)), StatusIs(kStale, "any more"));
  EXPECT_THAT(table_.Find(Buffer(3, 8)),
              StatusIs(absl::StatusCode::kNotFound, "does not exist"));
  EXPECT_THAT(table_.Find(Buffer(Handle::kMaxIndex)),
              StatusIs(absl::StatusCode::kNotFound, "does not exist"));
}

TEST_F(HandleTableTest, GenerationsOnlyGrow) {
  Put(Buffer(0, 5), "five");
  EXPECT_THAT(table_.CheckNew(Buffer(0, 5)),
              StatusIs(absl::StatusCode::kAlreadyExists, "exists"));
  EXPECT_THAT(table_.CheckNew(Buffer(0, 6)), StatusIs(kStale, "in use"));
  ASSERT_OK(table_.Take(Buffer(0, 5)));
  EXPECT_THAT(table_.CheckNew(Buffer(0, 5)), StatusIs(kStale, "any more"));
  EXPECT_THAT(table_.CheckNew(Buffer(0, 4)), StatusIs(kStale, "any more"));
  EXPECT_OK(table_.CheckNew(Buffer(0, 6)));
}

TEST_F(HandleTableTest, AHandleInErrorRepeatsItsCauseUntilItIsTaken) {
  ASSERT_OK_AND_ASSIGN(Charge charge, table_.Reserve());
  table_.PutError(Buffer(1), absl::ResourceExhaustedError("no memory"),
                  std::move(charge));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(table_.Find(Buffer(1)),
                StatusIs(absl::StatusCode::kResourceExhausted, "no memory"));
  }
  ASSERT_OK_AND_ASSIGN(const auto taken, table_.Take(Buffer(1)));
  EXPECT_EQ(taken, std::nullopt);
  EXPECT_THAT(table_.Find(Buffer(1)), StatusIs(kStale, "any more"));
  EXPECT_OK(table_.CheckNew(Buffer(1, 2)));
}

TEST_F(HandleTableTest, TakingNothingOrTwiceIsNoError) {
  Put(Buffer(0), "x");
  EXPECT_EQ(*table_.Take(0), std::nullopt);
  EXPECT_NE(*table_.Take(Buffer(0)), std::nullopt);
  EXPECT_EQ(*table_.Take(Buffer(0)), std::nullopt);
  Put(Buffer(0, 2), "y");
  EXPECT_EQ(*table_.Take(Buffer(0)), std::nullopt);
  EXPECT_OK(table_.Find(Buffer(0, 2)));
}

TEST_F(HandleTableTest, EachHandleCountsUntilItIsFreedThoseInErrorToo) {
  Put(Buffer(0), "x");
  ASSERT_OK_AND_ASSIGN(Charge charge, table_.Reserve());
  table_.PutError(Buffer(1), absl::InternalError("no"), std::move(charge));
  EXPECT_THAT(table_.Reserve().status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "1 handles asked for, 2 are in use, the limit is 2"));
  ASSERT_OK(table_.Take(Buffer(1)));
  EXPECT_EQ(quota_->used(), 1u);
  ASSERT_OK(table_.Take(Buffer(1)));
  EXPECT_EQ(quota_->used(), 1u);
  Put(Buffer(1, 2), "y");
  EXPECT_EQ(quota_->used(), 2u);
}

TEST_F(HandleTableTest, ANewGenerationInTheSlotOfAnErrorCountsOnce) {
  ASSERT_OK_AND_ASSIGN(Charge charge, table_.Reserve());
  table_.PutError(Buffer(1), absl::InternalError("no"), std::move(charge));
  Put(Buffer(1, 2), "y");
  EXPECT_EQ(quota_->used(), 1u);
  ASSERT_OK(table_.Take(Buffer(1, 2)));
  EXPECT_EQ(quota_->used(), 0u);
}

TEST(HandleTableQuotaTest, WhatIsLeftIsReturnedWithTheTable) {
  const auto quota = Quota::Create({.limit = 5});
  {
    HandleTable<std::string> table(HandleKind::kBuffer, quota);
    ASSERT_OK_AND_ASSIGN(Charge charge, table.Reserve());
    table.Put(Buffer(0), "x", std::move(charge));
    EXPECT_EQ(quota->used(), 1u);
  }
  EXPECT_EQ(quota->used(), 0u);
}

TEST(HandleTableModelTest, AgreesWithAModelUnderHostileUse) {
  const auto quota = Quota::Create({});
  std::optional<HandleTable<std::string>> table;
  table.emplace(HandleKind::kBuffer, quota);
  struct Entry {
    uint32_t generation = 0;
    bool live = false;
  };
  std::map<uint32_t, Entry> model;
  std::mt19937 random(5);
  for (int step = 0; step < 20000; ++step) {
    const uint32_t index = random() % 8;
    const uint32_t generation = 1 + random() % 40;
    const uint64_t handle = Buffer(index, generation);
    Entry& entry = model[index];
    switch (random() % 3) {
      case 0: {
        const bool allowed = !entry.live && generation > entry.generation;
        ASSERT_EQ(table->CheckNew(handle).ok(), allowed);
        if (!allowed) break;
        table->Put(handle, std::to_string(handle), *table->Reserve());
        entry = {generation, true};
        break;
      }
      case 1: {
        const bool live = entry.live && generation == entry.generation;
        const auto found = table->Find(handle);
        ASSERT_EQ(found.ok(), live);
        if (live) {
          ASSERT_EQ(**found, std::to_string(handle));
        }
        break;
      }
      default: {
        const auto taken = table->Take(handle);
        const bool live = entry.live && generation == entry.generation;
        ASSERT_EQ(taken.ok() && taken->has_value(), live);
        if (live) entry.live = false;
        break;
      }
    }
    ASSERT_EQ(quota->used(),
              static_cast<uint64_t>(std::count_if(
                  model.begin(), model.end(),
                  [](const auto& item) { return item.second.live; })));
    // Every generation is used up sooner or later: begin again.
    if (entry.generation >= 39 && !entry.live) {
      table.emplace(HandleKind::kBuffer, quota);
      model.clear();
    }
  }
}

}  // namespace
}  // namespace holdfast::executor
