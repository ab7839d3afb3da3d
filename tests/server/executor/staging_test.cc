// SPDX-License-Identifier: Apache-2.0
//
// Which calls get page-locked blocks, and what becomes of them.
#include "server/executor/transfer/staging.h"

#include <cstdlib>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "server/executor/command/inline_staging.h"
#include "server/executor/transfer/transfer_memory.h"
#include "server/relay/shared_blocks.h"
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

// For a call that waits for nothing.
std::stop_token Now() {
  std::stop_source source;
  source.request_stop();
  return source.get_token();
}

std::shared_ptr<Quota> NoLimit() { return Quota::Create({}); }

std::shared_ptr<Staging> EightBlocks() {
  return Staging::Create(SoftwareContext(), NoLimit(), kBlockBytes, 8, 4);
}

TEST(StagingTest, PlacesAreBounded) {
  const auto staging = EightBlocks();
  std::vector<std::shared_ptr<Staging::Place>> places;
  for (int i = 0; i < 4; ++i) {
    places.push_back(staging->AwaitPlace(Now()));
    ASSERT_NE(places.back(), nullptr);
  }
  EXPECT_EQ(staging->AwaitPlace(Now()), nullptr);
  std::thread leaver([&] { places.pop_back(); });
  EXPECT_NE(staging->AwaitPlace({}), nullptr);
  leaver.join();
}

TEST(StagingTest, WhoTakesAllThatIsFreeLeavesTheOthersTheirs) {
  const auto staging = EightBlocks();
  const auto greedy = staging->AwaitPlace(Now());
  const auto modest = staging->AwaitPlace(Now());
  std::vector<Staging::BlockPtr> taken;
  for (;;) {
    ASSERT_OK_AND_ASSIGN(Staging::BlockPtr block, greedy->TryAcquire());
    if (block == nullptr) break;
    taken.push_back(std::move(block));
  }
  EXPECT_EQ(taken.size(), 5u);
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr none, staging->TryAcquire());
  EXPECT_EQ(none, nullptr);
  EXPECT_FALSE(staging->HasFree([] {}));
  const auto late = staging->AwaitPlace(Now());
  ASSERT_NE(late, nullptr);
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr first, late->TryAcquire());
  EXPECT_NE(first, nullptr);
  ASSERT_OK_AND_ASSIGN(Staging::BlockPtr own, modest->TryAcquire());
  ASSERT_NE(own, nullptr);
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr more, modest->TryAcquire());
  EXPECT_EQ(more, nullptr);
  own = nullptr;
  // Kept for it: the greedy one does not get it.
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr eighth, greedy->TryAcquire());
  EXPECT_EQ(eighth, nullptr);
}

TEST(StagingTest, APlaceLivesAsLongAsItsBlocks) {
  const auto staging =
      Staging::Create(SoftwareContext(), NoLimit(), kBlockBytes, 2, 1);
  auto place = staging->AwaitPlace(Now());
  ASSERT_OK_AND_ASSIGN(Staging::BlockPtr block, place->TryAcquire());
  place = nullptr;
  EXPECT_EQ(staging->AwaitPlace(Now()), nullptr);
  block = nullptr;
  EXPECT_NE(staging->AwaitPlace(Now()), nullptr);
}

TEST(StagingTest, ACancelledCallWaitsForNeitherPlaceNorBlock) {
  const auto staging =
      Staging::Create(SoftwareContext(), NoLimit(), kBlockBytes, 1, 1);
  const auto place = staging->AwaitPlace({});
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr only, place->Acquire({}));
  std::stop_source call;
  std::thread for_place(
      [&] { EXPECT_EQ(staging->AwaitPlace(call.get_token()), nullptr); });
  std::thread for_block([&] {
    ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr none,
                         place->Acquire(call.get_token()));
    EXPECT_EQ(none, nullptr);
  });
  call.request_stop();
  for_place.join();
  for_block.join();
}

TEST(StagingTest, WhoWaitsForABlockGetsTheOneThatComesBack) {
  const auto staging =
      Staging::Create(SoftwareContext(), NoLimit(), kBlockBytes, 1, 1);
  const auto place = staging->AwaitPlace({});
  ASSERT_OK_AND_ASSIGN(Staging::BlockPtr only, place->Acquire({}));
  std::thread waiter([&] {
    ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr next, place->Acquire({}));
    EXPECT_NE(next, nullptr);
  });
  only = nullptr;
  waiter.join();
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
  const auto place = staging->AwaitPlace(Now());
  EXPECT_THAT(place->TryAcquire().status(),
              StatusIs(absl::StatusCode::kResourceExhausted, ""));
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr first, place->TryAcquire());
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr second, place->TryAcquire());
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
}

TEST(StagingTest, BlocksLieInTheMemoryThatWasGivenEachInItsPlace) {
  cuda::DriverApi api = SoftwareDriver().api;
  InjectFault<&cuda::DriverApi::cuMemHostRegister>(&api, 2,
                                                   CUDA_ERROR_OUT_OF_MEMORY);
  const std::shared_ptr<char> memory(
      static_cast<char*>(std::aligned_alloc(kBlockBytes, 3 * kBlockBytes)),
      std::free);
  const auto staging = Staging::Create(SoftwareContext(api), NoLimit(),
                                       kBlockBytes, 3, 0, memory);
  std::vector<Staging::BlockPtr> blocks;
  for (const int place : {0, -1, 1, 2}) {
    const auto block = staging->TryAcquire();
    EXPECT_EQ(block.ok(), place >= 0);
    if (!block.ok()) continue;
    EXPECT_EQ((*block)->data(),
              memory.get() + static_cast<size_t>(place) * kBlockBytes);
    blocks.push_back(*block);
  }
  char* const last = blocks.back()->data();
  blocks.pop_back();
  ASSERT_OK_AND_ASSIGN(const Staging::BlockPtr again, staging->TryAcquire());
  EXPECT_EQ(again->data(), last);
}

TEST(TransferMemoryTest, BlocksOfEitherEndAreForDevicesAndTheOtherEnd) {
  ASSERT_OK_AND_ASSIGN(const UniqueFd fd, SharedBlocks::CreateMemory());
  ASSERT_OK_AND_ASSIGN(const auto daemon,
                       SharedBlocks::Map(fd.get(), SharedBlocks::End::kDaemon));
  ASSERT_OK_AND_ASSIGN(
      std::shared_ptr<SharedBlocks> blocks,
      SharedBlocks::Map(fd.get(), SharedBlocks::End::kExecutor));
  const auto quota = Quota::Create({});
  TransferMemory memory(SoftwareContext(), quota, blocks);
  EXPECT_EQ(quota->used(), 0u);

  const auto uploaded = daemon->Take(5);
  const char* const data = blocks->data(*uploaded);
  ASSERT_OK_AND_ASSIGN(const CUdeviceptr address, memory.AddressOf(data));
  EXPECT_EQ(memory.AddressOf(data).value(), address);
  EXPECT_EQ(quota->used(), SharedBlocks::kBlockBytes);

  ASSERT_OK_AND_ASSIGN(Staging::BlockPtr block, memory.staging()->TryAcquire());
  block->data()[0] = 'x';
  const SharedBlocks::Block lent = memory.Lend(*block, 1);
  ASSERT_TRUE(daemon->IsTheirs(lent));
  EXPECT_EQ(daemon->data(lent)[0], 'x');
  EXPECT_EQ(quota->used(), 2 * SharedBlocks::kBlockBytes);

  block = nullptr;
  memory.Close();
  EXPECT_EQ(quota->used(), 0u);
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
