// SPDX-License-Identifier: Apache-2.0
#include "server/executor/attach/kept_results.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace holdfast::executor {
namespace {

using ::holdfast::testing::StatusIs;
using Numbers = std::vector<uint64_t>;

KeptResults::Batch BatchOf(std::initializer_list<uint64_t> sequences) {
  v1::ResultBatch batch;
  for (const uint64_t sequence : sequences) {
    batch.add_results()->set_sequence(sequence);
  }
  return KeptResults::Batch(batch);
}

// All results that are to be sent, by their sequence numbers.
Numbers TakeAll(KeptResults& results) {
  Numbers numbers;
  while (!results.all_sent()) {
    v1::ResultBatch batch;
    results.TakeNext(&batch);
    for (const v1::Result& result : batch.results()) {
      numbers.push_back(result.sequence());
    }
  }
  return numbers;
}

TEST(KeptResultsTest, AClientGetsExactlyTheResultsThatItHasNotRead) {
  KeptResults results;
  results.Add(BatchOf({10, 11}));
  results.Add(BatchOf({12}));
  EXPECT_EQ(TakeAll(results), (Numbers{10, 11, 12}));
  results.Add(BatchOf({13, 14}));
  const std::vector<Numbers> unread = {
      {10, 11, 12, 13, 14}, {11, 12, 13, 14}, {12, 13, 14}, {13, 14}, {14}, {}};
  for (uint64_t read = 0; read < unread.size(); ++read) {
    ASSERT_OK(results.ContinueAfter(read));
    EXPECT_EQ(TakeAll(results), unread[read]) << read;
    // What is left out once is not left out of what comes next.
    EXPECT_EQ(results.unsent_bytes(), 0u) << read;
  }
}

TEST(KeptResultsTest, AClientThatHasReadMoreThanThereWasIsRefused) {
  KeptResults results;
  results.Add(BatchOf({1}));
  EXPECT_THAT(results.ContinueAfter(2),
              StatusIs(absl::StatusCode::kOutOfRange, "2 results of 1"));
  EXPECT_EQ(TakeAll(results), Numbers{1});
}

TEST(KeptResultsTest, ResultsSentPastTheQueueCountAsSent) {
  KeptResults results;
  results.AddSent(BatchOf({1}));
  EXPECT_TRUE(results.all_sent());
  results.Add(BatchOf({2}));
  EXPECT_EQ(TakeAll(results), Numbers{2});
  ASSERT_OK(results.ContinueAfter(0));
  EXPECT_EQ(TakeAll(results), (Numbers{1, 2}));
}

TEST(KeptResultsTest, OnlySentResultsAreDroppedForWantOfRoom) {
  v1::ResultBatch large;
  large.add_results()->mutable_error()->set_message(
      std::string(KeptResults::kMaxSent / 2, 'x'));
  KeptResults results;
  for (int i = 0; i < 4; ++i) results.Add(KeptResults::Batch(large));
  EXPECT_GT(results.unsent_bytes(), 2 * KeptResults::kMaxSent - 1);
  for (int sent = 0; sent < 4; ++sent) {
    v1::ResultBatch batch;
    ASSERT_FALSE(results.all_sent());
    results.TakeNext(&batch);
    EXPECT_EQ(batch.results_size(), 1);
  }
  EXPECT_EQ(results.unsent_bytes(), 0u);
  // Two of a little more than half of the room are too many: one is left.
  EXPECT_THAT(results.ContinueAfter(2),
              StatusIs(absl::StatusCode::kOutOfRange, "behind 3 are kept"));
  ASSERT_OK(results.ContinueAfter(3));
  EXPECT_FALSE(results.all_sent());
}

}  // namespace
}  // namespace holdfast::executor
