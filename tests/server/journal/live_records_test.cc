// SPDX-License-Identifier: Apache-2.0
#include "server/journal/live_records.h"

#include <gtest/gtest.h>

#include <deque>
#include <initializer_list>
#include <string>
#include <vector>

namespace holdfast::journal {
namespace {

using Indices = std::vector<size_t>;
using internal::JournalRecord;

struct Step {
  std::initializer_list<uint64_t> creates = {};
  uint64_t destroys = 0;
  uint64_t ends_with = 0;
  std::initializer_list<uint64_t> needs = {};
  std::string key = "";
};

Indices Live(std::initializer_list<Step> steps) {
  std::deque<JournalRecord> records;
  std::vector<const JournalRecord*> in_order;
  for (const Step& step : steps) {
    JournalRecord& record = records.emplace_back();
    in_order.push_back(&record);
    record.mutable_creates()->Add(step.creates.begin(), step.creates.end());
    record.set_destroys(step.destroys);
    record.set_ends_with(step.ends_with);
    record.mutable_needs()->Add(step.needs.begin(), step.needs.end());
    record.set_key(step.key);
  }
  return LiveRecords(in_order);
}

TEST(LiveRecordsTest, WhatWasEndedLeavesNothing) {
  EXPECT_EQ(Live({{.creates = {1}}, {.creates = {2}}, {.destroys = 1}}),
            Indices({1}));
}

TEST(LiveRecordsTest, APartEndsWithItsWhole) {
  EXPECT_EQ(Live({{.creates = {1}},
                  {.creates = {2}, .ends_with = 1},
                  {.creates = {3}, .ends_with = 2},
                  {.creates = {4}},
                  {.destroys = 1}}),
            Indices({3}));
}

TEST(LiveRecordsTest, APartMayEndBeforeItsWhole) {
  EXPECT_EQ(Live({{.creates = {1}},
                  {.creates = {2}, .ends_with = 1},
                  {.destroys = 2}}),
            Indices({0}));
}

TEST(LiveRecordsTest, ANameThatIsUsedAgainMeansTheNewOne) {
  EXPECT_EQ(Live({{.creates = {1}},
                  {.creates = {2}, .ends_with = 1},
                  {.destroys = 1},
                  {.creates = {1}},
                  {.creates = {3}, .ends_with = 1}}),
            Indices({3, 4}));
}

// A graph uses a kernel whose module is unloaded: both come back for it, and go
// again.
TEST(LiveRecordsTest, WhatIsNeededComesBackAndIsEndedAgain) {
  EXPECT_EQ(Live({{.creates = {1}},
                  {.creates = {2}, .ends_with = 1},
                  {.creates = {3}, .needs = {2}},
                  {.destroys = 1}}),
            Indices({0, 1, 2, 3}));
  EXPECT_EQ(Live({{.creates = {1}},
                  {.creates = {2}, .ends_with = 1},
                  {.creates = {3}, .needs = {2}},
                  {.destroys = 1},
                  {.destroys = 3}}),
            Indices({}));
}

TEST(LiveRecordsTest, OfChangesTheLastOfEachKeyCounts) {
  EXPECT_EQ(Live({{.creates = {1}},
                  {.ends_with = 1, .key = "a"},
                  {.ends_with = 1, .key = "b"},
                  {.ends_with = 1, .key = "a"},
                  {.key = "peer"},
                  {.key = "peer"}}),
            Indices({0, 2, 3, 5}));
}

TEST(LiveRecordsTest, AChangeReplacesEarlierOnesBelowIt) {
  EXPECT_EQ(Live({{.creates = {1}},
                  {.ends_with = 1, .key = "a/5"},
                  {.ends_with = 1, .key = "a/5/7"},
                  {.ends_with = 1, .key = "ab/5"},
                  {.ends_with = 1, .key = "a.5"},
                  {.ends_with = 1, .key = "a"},
                  {.ends_with = 1, .key = "a/5"}}),
            Indices({0, 3, 4, 5, 6}));
}

TEST(LiveRecordsTest, AListIsReplacedOnceEachOfItsKeysIs) {
  EXPECT_EQ(Live({{.creates = {1}},
                  {.ends_with = 1, .key = "a/1"},
                  {.ends_with = 1, .key = "a/{1,2}"},
                  {.ends_with = 1, .key = "a/2"}}),
            Indices({0, 2, 3}));
  EXPECT_EQ(Live({{.creates = {1}},
                  {.ends_with = 1, .key = "a/{1,2}"},
                  {.ends_with = 1, .key = "a/{2,3}"},
                  {.ends_with = 1, .key = "a/1"}}),
            Indices({0, 2, 3}));
  EXPECT_EQ(Live({{.creates = {1}},
                  {.ends_with = 1, .key = "a/{1,2}"},
                  {.ends_with = 1, .key = "a/3"},
                  {.ends_with = 1, .key = "a"}}),
            Indices({0, 3}));
  EXPECT_EQ(Live({{.creates = {1}},
                  {.ends_with = 1, .key = "a/{1,1}"},
                  {.ends_with = 1, .key = "a/{1,1}"},
                  {.ends_with = 1, .key = "a/{}"}}),
            Indices({0, 2, 3}));
}

TEST(LiveRecordsTest, TheSameListReplacesAListUnlessAKeyWasTaken) {
  EXPECT_EQ(Live({{.creates = {1}},
                  {.ends_with = 1, .key = "a/{1,2}"},
                  {.ends_with = 1, .key = "a/{1,2}"},
                  {.ends_with = 1, .key = "a/{1,2}"}}),
            Indices({0, 3}));
  EXPECT_EQ(Live({{.creates = {1}},
                  {.ends_with = 1, .key = "a/{1,2}"},
                  {.ends_with = 1, .key = "a/{1,2}"},
                  {.ends_with = 1, .key = "a/2"},
                  {.ends_with = 1, .key = "a/{1,2}"},
                  {.ends_with = 1, .key = "a/1"}}),
            Indices({0, 4, 5}));
}

// Resource 2 has ended for good: 3 may lie in its memory.
TEST(LiveRecordsTest, AReplacedChangeNeedsNothing) {
  EXPECT_EQ(Live({{.creates = {1}},
                  {.creates = {2}},
                  {.ends_with = 1, .needs = {2}, .key = "a/5"},
                  {.ends_with = 1, .key = "a"},
                  {.destroys = 2},
                  {.creates = {3}},
                  {.ends_with = 1, .key = "a"}}),
            Indices({0, 5, 6}));
}

// The record that a resource is lost to a successor takes its name over.
TEST(LiveRecordsTest, ALossPutsAnEndToWhatWasMadeAndChanged) {
  EXPECT_EQ(Live({{.creates = {1}},
                  {.ends_with = 1, .key = "a"},
                  {.creates = {1}},
                  {.creates = {2}}}),
            Indices({2, 3}));
}

TEST(LiveRecordsTest, AChangeOfWhatIsGoneIsGone) {
  EXPECT_EQ(
      Live({{.creates = {1}}, {.ends_with = 1, .key = "a"}, {.destroys = 1}}),
      Indices({}));
}

TEST(LiveRecordsTest, OneOfSeveralThatAStepHasMadeMayEnd) {
  EXPECT_EQ(Live({{.creates = {1, 2}}, {.destroys = 1}}), Indices({0, 1}));
  EXPECT_EQ(Live({{.creates = {1, 2}}, {.destroys = 1}, {.destroys = 2}}),
            Indices({}));
}

// Such a journal comes from an executor that was taken over.
TEST(LiveRecordsTest, CirclesAndUnknownNamesEnd) {
  EXPECT_EQ(Live({{.creates = {1}, .ends_with = 1}, {.destroys = 1}}),
            Indices({}));
  EXPECT_EQ(Live({{.creates = {1}, .ends_with = 2},
                  {.creates = {2}, .ends_with = 1},
                  {.destroys = 2}}),
            Indices({}));
  EXPECT_EQ(Live({{.destroys = 7}, {.creates = {1}, .needs = {9, 1}}}),
            Indices({1}));
}

}  // namespace
}  // namespace holdfast::journal
