// SPDX-License-Identifier: Apache-2.0
//
// Which calls get page-locked blocks, and what becomes of them.
#include "server/executor/memory/staging.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "server/executor/memory/inline_staging.h"
#include "tests/testing/fault_injecting_driver.h"
#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace holdfast::executor {
namespace {

using holdfast::testing::InjectFault;
using holdfast::testing::SoftwareContext;
using holdfast::testing::SoftwareDriver;
using holdfast::testing::StatusIs;

constexpr size_t kBlockBytes = 4096;

std::shared_ptr<Quota> NoLimit() { return Quota::Create({}); }

std::shared_ptr<Staging> EightBlocks() {
  return Staging::Create(SoftwareContext(), NoLimit(), kBlockBytes, 8);
}

TEST(StagingTest, ThereAreSoManyBlocksAndNoMore) {
  const auto staging = EightBlocks();
  std::vector<Staging::BlockPtr> taken;
  for (;;) {
    ASSERT_OK_AND_ASSIGN(Staging::BlockPtr block, staging->TryAcquire());
    if (block == nullptr) break;
    taken.push_back(std::move(block));
  }
  EXPECT_EQ(taken.size(), 8u);
  EXPECT_FALSE(staging->HasFree([] {}));
  taken.pop_back();
  EXPECT_TRUE(staging->HasFree([] {}));
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr again, staging->TryAcquire());
  EXPECT_NE(again, nullptr);
}

TEST(StagingTest, WhoWaitsIsCalledWhenABlockComesBack) {
  const auto staging =
      Staging::Create(SoftwareContext(), NoLimit(), kBlockBytes, 1);
  ASSERT_OK_AND_ASSIGN(Staging::BlockPtr block, staging->TryAcquire());
  int calls = 0;
  EXPECT_FALSE(staging->HasFree([&calls] { ++calls; }));
  EXPECT_EQ(calls, 0);
  block = nullptr;
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(staging->HasFree([&calls] { ++calls; }));
}

TEST(StagingTest, ABlockThatCannotBeMadeCostsNothing) {
  cuda::DriverApi api = SoftwareDriver().api;
  InjectFault<&cuda::DriverApi::cuMemHostAlloc>(&api, 1,
                                                CUDA_ERROR_OUT_OF_MEMORY);
  const auto staging =
      Staging::Create(SoftwareContext(api), NoLimit(), kBlockBytes, 2);
  EXPECT_THAT(staging->TryAcquire().status(),
              StatusIs(absl::StatusCode::kResourceExhausted, ""));
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr first, staging->TryAcquire());
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr second, staging->TryAcquire());
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
}

TEST(StagingTest, BlocksAreChargedWhenTheyAreMadeAndReturnedAtTheEnd) {
  const auto quota = Quota::Create({.limit = kBlockBytes});
  auto staging = Staging::Create(SoftwareContext(), quota, kBlockBytes, 2);
  ASSERT_OK_AND_ASSIGN(Staging::BlockPtr block, staging->TryAcquire());
  EXPECT_EQ(quota->used(), kBlockBytes);
  EXPECT_THAT(staging->TryAcquire().status(),
              StatusIs(absl::StatusCode::kResourceExhausted, "the limit is"));
  // A block that waits to be used again is still there.
  block = nullptr;
  EXPECT_EQ(quota->used(), kBlockBytes);
  staging->Close();
  EXPECT_EQ(quota->used(), 0u);
}

TEST(StagingTest, BlocksThatComeBackAfterTheEndAreLeftAlone) {
#ifdef __SANITIZE_ADDRESS__
  const __lsan::ScopedDisabler left_alone;
#endif
  auto staging = EightBlocks();
  ASSERT_OK_AND_ASSIGN(Staging::BlockPtr block, staging->TryAcquire());
  staging->Close();
  char* const data = block->data();
  block = nullptr;
  // Still mapped: a driver that is gone may be at it.
  data[0] = 'x';
  staging = nullptr;
  data[kBlockBytes - 1] = 'x';
}

TEST(InlineStagingTest, SmallSpansShareABlockAndDoNotOverlap) {
  const auto staging =
      Staging::Create(SoftwareContext(), NoLimit(), kBlockBytes, 2);
  InlineStaging space(staging);
  std::vector<InlineStaging::Span> spans;
  while (space.HasRoom(100, [] {})) {
    ASSERT_OK_AND_ASSIGN(InlineStaging::Span span, space.Take(100));
    for (const InlineStaging::Span& other : spans) {
      EXPECT_TRUE(span.data >= other.data + 100 ||
                  other.data >= span.data + 100);
    }
    spans.push_back(std::move(span));
  }
  EXPECT_EQ(spans.size(), 2 * kBlockBytes / 128);
  EXPECT_THAT(space.Take(1).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, ""));
}

TEST(InlineStagingTest, MoreThanABlockIsRefusedAndTakesNoRoom) {
  const auto staging =
      Staging::Create(SoftwareContext(), NoLimit(), kBlockBytes, 1);
  InlineStaging space(staging);
  for (const size_t size : {kBlockBytes + 1, SIZE_MAX}) {
    EXPECT_THAT(space.Take(size).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, "more than"));
  }
  EXPECT_OK(space.Take(kBlockBytes).status());
}

TEST(InlineStagingTest, AWholeBlockFitsAndComesBack) {
  const auto staging =
      Staging::Create(SoftwareContext(), NoLimit(), kBlockBytes, 1);
  InlineStaging space(staging);
  for (int i = 0; i < 3; ++i) {
    bool called = false;
    ASSERT_OK_AND_ASSIGN(InlineStaging::Span span, space.Take(kBlockBytes));
    EXPECT_FALSE(space.HasRoom(1, [&called] { called = true; }));
    span = {};
    EXPECT_TRUE(called);
  }
}

}  // namespace
}  // namespace holdfast::executor
