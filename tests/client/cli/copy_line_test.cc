// SPDX-License-Identifier: Apache-2.0
#include "client/cli/collection/copy_line.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST(DescribeCopyTest, RateAndRestAreThoseSinceTheBeginning) {
  EXPECT_EQ(DescribeCopy(100 * kMiB, 400 * kMiB, absl::Seconds(2)),
            "100.0 MiB of 400.0 MiB, 50.0 MiB/s, 6 s left");
  EXPECT_EQ(DescribeCopy(kMiB, 151 * kMiB, absl::Seconds(1)),
            "1.0 MiB of 151.0 MiB, 1.0 MiB/s, 2m30s left");
}

TEST(DescribeCopyTest, NothingIsGuessed) {
  EXPECT_EQ(DescribeCopy(kMiB, 2 * kMiB, absl::Milliseconds(10)),
            "1.0 MiB of 2.0 MiB");
  EXPECT_EQ(DescribeCopy(0, 2 * kMiB, absl::Seconds(9)), "0 bytes of 2.0 MiB");
  EXPECT_EQ(DescribeCopy(3 * kMiB, 2 * kMiB, absl::Seconds(1)),
            "3.0 MiB of 2.0 MiB, 3.0 MiB/s, 0 s left");
}

}  // namespace
}  // namespace holdfast::cli
