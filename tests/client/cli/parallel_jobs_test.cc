// SPDX-License-Identifier: Apache-2.0
#include "client/cli/collection/parallel_jobs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"

namespace holdfast::cli {
namespace {

TEST(ParallelJobsTest, EachNumberHasOneJob) {
  std::vector<std::atomic<int>> calls(1000);
  EXPECT_TRUE(RunJobs(calls.size(), [&](size_t number) {
                ++calls[number];
                return absl::OkStatus();
              }).ok());
  for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
}

TEST(ParallelJobsTest, NoJobsAreNoError) {
  EXPECT_TRUE(
      RunJobs(0, [](size_t) { return absl::InternalError("called"); }).ok());
}

// Each thread begins at most one job that fails.
TEST(ParallelJobsTest, AfterAnErrorNoMoreBegin) {
  std::atomic<size_t> calls = 0;
  const absl::Status status = RunJobs(1000, [&](size_t number) {
    ++calls;
    return number < 5 ? absl::OkStatus() : absl::DataLossError("bad");
  });
  EXPECT_EQ(status, absl::DataLossError("bad"));
  EXPECT_LE(calls, 5 + kMaxJobThreads);
}

TEST(ParallelJobsTest, TheErrorOfTheLowestNumberIsReturned) {
  for (int i = 0; i < 100; ++i) {
    const absl::Status status = RunJobs(64, [](size_t number) -> absl::Status {
      if (number < 3) return absl::OkStatus();
      return absl::DataLossError(absl::StrCat(number));
    });
    EXPECT_EQ(status, absl::DataLossError("3"));
  }
}

}  // namespace
}  // namespace holdfast::cli
