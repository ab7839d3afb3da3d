// SPDX-License-Identifier: Apache-2.0
//
// Who gets page-locked blocks, and what becomes of them.
#include "server/executor/transfer/staging.h"

#include <thread>
#include <vector>

#include "server/executor/command/inline_staging.h"
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
constexpr absl::Duration kNow = absl::ZeroDuration();
constexpr absl::Duration kHang = absl::Minutes(1);

std::shared_ptr<Quota> NoLimit() { return Quota::Create({}); }

std::shared_ptr<Staging> EightBlocks() {
  return Staging::Create(SoftwareContext(), NoLimit(), kBlockBytes, 8, 4);
}

TEST(StagingTest, PlacesAreBounded) {
  const auto staging = EightBlocks();
  std::vector<std::shared_ptr<Staging::Place>> places;
  for (int i = 0; i < 4; ++i) {
    places.push_back(staging->AwaitPlace(kNow));
    ASSERT_NE(places.back(), nullptr);
  }
  EXPECT_EQ(staging->AwaitPlace(kNow), nullptr);
  std::thread leaver([&] { places.pop_back(); });
  EXPECT_NE(staging->AwaitPlace(kHang), nullptr);
  leaver.join();
}

TEST(StagingTest, WhoTakesAllThatIsFreeLeavesTheOthersTheirs) {
  const auto staging = EightBlocks();
  const auto greedy = staging->AwaitPlace(kNow);
  const auto modest = staging->AwaitPlace(kNow);
  std::vector<Staging::BlockPtr> taken;
  for (;;) {
    ASSERT_OK_AND_ASSIGN(Staging::BlockPtr block, greedy->Acquire(kNow));
    if (block == nullptr) break;
    taken.push_back(std::move(block));
  }
  EXPECT_EQ(taken.size(), 5u);
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr none, staging->TryAcquire());
  EXPECT_EQ(none, nullptr);
  EXPECT_FALSE(staging->HasFree([] {}));
  const auto late = staging->AwaitPlace(kNow);
  ASSERT_NE(late, nullptr);
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr first, late->Acquire(kNow));
  EXPECT_NE(first, nullptr);
  ASSERT_OK_AND_ASSIGN(Staging::BlockPtr own, modest->Acquire(kNow));
  ASSERT_NE(own, nullptr);
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr more, modest->Acquire(kNow));
  EXPECT_EQ(more, nullptr);
  own = nullptr;
  // Kept for it: the greedy one does not get it.
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr eighth, greedy->Acquire(kNow));
  EXPECT_EQ(eighth, nullptr);
}

TEST(StagingTest, APlaceLivesAsLongAsItsBlocks) {
  const auto staging =
      Staging::Create(SoftwareContext(), NoLimit(), kBlockBytes, 2, 1);
  auto place = staging->AwaitPlace(kNow);
  ASSERT_OK_AND_ASSIGN(Staging::BlockPtr block, place->Acquire(kNow));
  place = nullptr;
  EXPECT_EQ(staging->AwaitPlace(kNow), nullptr);
  block = nullptr;
  EXPECT_NE(staging->AwaitPlace(kNow), nullptr);
}

TEST(StagingTest, WhoWaitsIsCalledWhenABlockComesBack) {
  const auto staging =
      Staging::Create(SoftwareContext(), NoLimit(), kBlockBytes, 1, 0);
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
      Staging::Create(SoftwareContext(api), NoLimit(), kBlockBytes, 2, 1);
  const auto place = staging->AwaitPlace(kNow);
  EXPECT_THAT(place->Acquire(kNow).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, ""));
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr first, place->Acquire(kNow));
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr second, place->Acquire(kNow));
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
}

TEST(StagingTest, BlocksAreChargedWhenTheyAreMadeAndReturnedAtTheEnd) {
  const auto quota = Quota::Create({.limit = kBlockBytes});
  auto staging = Staging::Create(SoftwareContext(), quota, kBlockBytes, 2, 0);
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
  // Still mapped: gRPC, or a driver that is gone, may be at it.
  data[0] = 'x';
  staging = nullptr;
  data[kBlockBytes - 1] = 'x';
}

TEST(InlineStagingTest, SmallSpansShareABlockAndDoNotOverlap) {
  const auto staging =
      Staging::Create(SoftwareContext(), NoLimit(), kBlockBytes, 2, 0);
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

TEST(InlineStagingTest, AWholeBlockFitsAndComesBack) {
  const auto staging =
      Staging::Create(SoftwareContext(), NoLimit(), kBlockBytes, 1, 0);
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
