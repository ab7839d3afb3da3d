// SPDX-License-Identifier: Apache-2.0
#include "core/memory/device_allocator.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/cuda/copy.h"
#include "core/cuda/host_memory.h"
#include "tests/testing/fault_injecting_driver.h"
#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::memory {
namespace {

using cuda::DriverApi;
using cuda::Stream;
using holdfast::testing::CallsOf;
using holdfast::testing::InjectFault;
using holdfast::testing::SoftwareContext;
using holdfast::testing::SoftwareDriver;
using holdfast::testing::StatusIs;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kSmallest = 4 * kMiB;  // of shared chunks
constexpr uint64_t kLargest = 32 * kMiB;

// cuEventQuery that answers "not ready" while the switch is on: a device that
// is still busy, without any waiting in the test.
std::atomic<bool> g_busy{false};
decltype(&::cuEventQuery) g_real_event_query = nullptr;
CUresult BusyEventQuery(CUevent event) {
  return g_busy ? CUDA_ERROR_NOT_READY : g_real_event_query(event);
}

class DeviceAllocatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    api_ = SoftwareDriver().api;
    g_busy = false;
    g_real_event_query = api_.cuEventQuery;
    api_.cuEventQuery = &BusyEventQuery;
    context_ = SoftwareContext(api_);
    ASSERT_OK_AND_ASSIGN(stream_, Stream::Create(context_, {}));
    ASSERT_OK_AND_ASSIGN(other_, Stream::Create(context_, {}));
  }

  // Its chunks may take `limit` bytes.
  std::unique_ptr<DeviceAllocator> Make(uint64_t limit = ~uint64_t{0}) {
    AllocatorOptions options;
    options.chunk_bytes = kSmallest;
    options.max_chunk_bytes = kLargest;
    options.reserve = [this, limit](uint64_t bytes) {
      if (bytes > limit - reserved_) {
        return absl::ResourceExhaustedError("refused");
      }
      reserved_ += bytes;
      return absl::OkStatus();
    };
    options.release = [this](uint64_t bytes) { reserved_ -= bytes; };
    options.chunk_created = [this](const Chunk& chunk) {
      EXPECT_TRUE(
          observed_
              .emplace(chunk.id(), Kept{UniqueFd(fcntl(chunk.descriptor(),
                                                       F_DUPFD_CLOEXEC, 0)),
                                        chunk.address(), chunk.size()})
              .second);
      EXPECT_TRUE(observed_.at(chunk.id()).descriptor.valid());
    };
    options.chunk_released = [this](const Chunk& chunk) {
      EXPECT_EQ(observed_.erase(chunk.id()), 1u);
    };
    options.address_hint = hint_;
    auto allocator = DeviceAllocator::Create(context_, std::move(options));
    EXPECT_OK(allocator);
    return *std::move(allocator);
  }

  // The supervisor's copy of a chunk's descriptor, and its place.
  struct Kept {
    UniqueFd descriptor;
    CUdeviceptr address = 0;
    uint64_t size = 0;
  };

  // `count` allocations of 1 MiB.
  std::vector<Allocation> AllocateMany(DeviceAllocator& allocator, int count) {
    std::vector<Allocation> made;
    for (int i = 0; i < count; ++i) {
      const auto allocation = allocator.Allocate(kMiB, nullptr);
      EXPECT_OK(allocation);
      if (allocation.ok()) made.push_back(*allocation);
    }
    return made;
  }

  DriverApi api_;
  std::shared_ptr<const cuda::Context> context_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Stream> other_;
  std::map<uint32_t, Kept> observed_;
  CUdeviceptr hint_ = 0;
  uint64_t reserved_ = 0;  // bytes
};

TEST_F(DeviceAllocatorTest, SmallAllocationsShareAChunk) {
  auto allocator = Make();
  ASSERT_OK_AND_ASSIGN(const Allocation a, allocator->Allocate(1, nullptr));
  ASSERT_OK_AND_ASSIGN(const Allocation b, allocator->Allocate(1000, nullptr));
  EXPECT_EQ(a.address % DeviceAllocator::kAlignment, 0u);
  EXPECT_EQ(b.address % DeviceAllocator::kAlignment, 0u);
  EXPECT_EQ(a.block.span, b.block.span);
  EXPECT_NE(a.address, b.address);
  EXPECT_EQ(allocator->statistics().chunks, 1u);
  EXPECT_EQ(allocator->statistics().used, 512u + 1024u);
}

TEST_F(DeviceAllocatorTest, LargeAllocationsHaveAChunkOfTheirOwn) {
  auto allocator = Make();
  ASSERT_OK_AND_ASSIGN(const Allocation a,
                       allocator->Allocate(3 * kMiB, nullptr));
  ASSERT_OK_AND_ASSIGN(const Allocation b,
                       allocator->Allocate(3 * kMiB, nullptr));
  EXPECT_NE(a.block.span, b.block.span);
  EXPECT_EQ(observed_.size(), 2u);
  ASSERT_OK(allocator->Free(a, nullptr));
  EXPECT_EQ(observed_.size(), 1u);
  EXPECT_EQ(observed_.count(b.block.span), 1u);
}

TEST_F(DeviceAllocatorTest, EmptyAllocationsHaveAnAddress) {
  auto allocator = Make();
  ASSERT_OK_AND_ASSIGN(const Allocation a, allocator->Allocate(0, nullptr));
  EXPECT_NE(a.address, 0u);
  EXPECT_EQ(a.size, 0u);
  EXPECT_OK(allocator->Free(a, nullptr));
}

TEST_F(DeviceAllocatorTest, MoreThanTheDeviceHasNamesSizeFreeAndTotal) {
  auto allocator = Make();
  const uint64_t total = *context_->device().TotalMemory();
  InjectFault<&DriverApi::cuMemCreate>(&api_, 0, CUDA_SUCCESS);
  const auto exhausted = absl::StatusCode::kResourceExhausted;
  const auto result = allocator->Allocate(total + 1, nullptr);
  EXPECT_THAT(result, StatusIs(exhausted, std::to_string(total + 1)));
  EXPECT_THAT(result, StatusIs(exhausted, std::to_string(total)));
  EXPECT_THAT(result, StatusIs(exhausted, "are free"));
  EXPECT_FALSE(allocator->Allocate(~uint64_t{0}, nullptr).ok());
  EXPECT_EQ(CallsOf<&DriverApi::cuMemCreate>(), 0);
}

TEST_F(DeviceAllocatorTest, ARefusedChunkIsNotMadeAndFreeingHelps) {
  auto allocator = Make(8 * kMiB);
  ASSERT_OK_AND_ASSIGN(const Allocation a,
                       allocator->Allocate(6 * kMiB, nullptr));
  EXPECT_EQ(reserved_, allocator->statistics().reserved);
  EXPECT_THAT(allocator->Allocate(6 * kMiB, nullptr),
              StatusIs(absl::StatusCode::kResourceExhausted, "refused"));
  EXPECT_EQ(reserved_, allocator->statistics().reserved);
  ASSERT_OK(allocator->Free(a, nullptr));
  EXPECT_EQ(reserved_, 0u);
  EXPECT_OK(allocator->Allocate(6 * kMiB, nullptr));
}

TEST_F(DeviceAllocatorTest, TheSpareChunkGoesBeforeAnotherIsRefused) {
  auto allocator = Make(8 * kMiB);
  ASSERT_OK_AND_ASSIGN(const Allocation a, allocator->Allocate(1, nullptr));
  ASSERT_OK(allocator->Free(a, nullptr));
  EXPECT_EQ(reserved_, 4 * kMiB);
  EXPECT_OK(allocator->Allocate(8 * kMiB, nullptr));
  EXPECT_EQ(reserved_, 8 * kMiB);
}

TEST_F(DeviceAllocatorTest, AChunkThatCannotBeMadeIsReleased) {
  auto allocator = Make();
  InjectFault<&DriverApi::cuMemCreate>(&api_, 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_FALSE(allocator->Allocate(100, nullptr).ok());
  EXPECT_EQ(reserved_, 0u);
}

TEST_F(DeviceAllocatorTest, TheDriversOutOfMemoryLeavesNothingBehind) {
  auto allocator = Make();
  InjectFault<&DriverApi::cuMemCreate>(&api_, 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(allocator->Allocate(100, nullptr),
              StatusIs(absl::StatusCode::kResourceExhausted, "cuMemCreate"));
  EXPECT_EQ(allocator->statistics().reserved, 0u);
  EXPECT_TRUE(observed_.empty());
  EXPECT_OK(allocator->Allocate(100, nullptr));
}

TEST_F(DeviceAllocatorTest, AFailedMappingReleasesTheMemory) {
  auto allocator = Make();
  InjectFault<&DriverApi::cuMemMap>(&api_, 1, CUDA_ERROR_MAP_FAILED);
  InjectFault<&DriverApi::cuMemRelease>(&api_, 0, CUDA_SUCCESS);
  EXPECT_FALSE(allocator->Allocate(100, nullptr).ok());
  EXPECT_EQ(CallsOf<&DriverApi::cuMemRelease>(), 1);
  EXPECT_OK(allocator->Allocate(100, nullptr));
}

TEST_F(DeviceAllocatorTest, TheSameStreamReusesWhatItFreedAtOnce) {
  auto allocator = Make();
  ASSERT_OK_AND_ASSIGN(const Allocation a,
                       allocator->Allocate(3 * kMiB, stream_.get()));
  g_busy = true;
  ASSERT_OK(allocator->Free(a, stream_.get()));
  EXPECT_EQ(allocator->statistics().pending, a.block.size);
  ASSERT_OK_AND_ASSIGN(const Allocation b,
                       allocator->Allocate(3 * kMiB, stream_.get()));
  EXPECT_EQ(b.address, a.address);
  EXPECT_EQ(allocator->statistics().pending, 0u);
}

TEST_F(DeviceAllocatorTest, OtherStreamsWaitForTheFreeingStream) {
  auto allocator = Make();
  ASSERT_OK_AND_ASSIGN(const Allocation a,
                       allocator->Allocate(kMiB, stream_.get()));
  g_busy = true;
  ASSERT_OK(allocator->Free(a, stream_.get()));
  ASSERT_OK_AND_ASSIGN(const Allocation b,
                       allocator->Allocate(kMiB, other_.get()));
  ASSERT_OK_AND_ASSIGN(const Allocation c, allocator->Allocate(kMiB, nullptr));
  EXPECT_NE(b.address, a.address);
  EXPECT_NE(c.address, a.address);
  g_busy = false;
  ASSERT_OK(stream_->Synchronize());
  ASSERT_OK_AND_ASSIGN(const Allocation d,
                       allocator->Allocate(kMiB, other_.get()));
  EXPECT_EQ(d.address, a.address);
}

TEST_F(DeviceAllocatorTest, UnderPressureItWaitsForPendingFrees) {
  auto allocator = Make(8 * kMiB);
  ASSERT_OK_AND_ASSIGN(const Allocation a,
                       allocator->Allocate(6 * kMiB, stream_.get()));
  g_busy = true;
  ASSERT_OK(allocator->Free(a, stream_.get()));
  EXPECT_OK(allocator->Allocate(6 * kMiB, other_.get()));
}

TEST_F(DeviceAllocatorTest, AStreamsSuccessorDoesNotInheritItsPendingFrees) {
  auto allocator = Make();
  ASSERT_OK_AND_ASSIGN(const Allocation a,
                       allocator->Allocate(kMiB, stream_.get()));
  g_busy = true;
  ASSERT_OK(allocator->Free(a, stream_.get()));
  stream_.reset();  // The driver may give its handle to the next one.
  ASSERT_OK_AND_ASSIGN(stream_, Stream::Create(context_, {}));
  ASSERT_OK_AND_ASSIGN(const Allocation b,
                       allocator->Allocate(kMiB, stream_.get()));
  EXPECT_NE(b.address, a.address);
}

TEST_F(DeviceAllocatorTest, OneEmptyChunkIsKeptAndTheOthersAreReleased) {
  auto allocator = Make();
  std::vector<Allocation> live;
  for (int i = 0; i < 12; ++i) {
    ASSERT_OK_AND_ASSIGN(Allocation a, allocator->Allocate(kMiB, nullptr));
    live.push_back(a);
  }
  EXPECT_EQ(observed_.size(), 3u);
  for (const Allocation& a : live) ASSERT_OK(allocator->Free(a, nullptr));
  EXPECT_EQ(observed_.size(), 1u);
  EXPECT_EQ(allocator->statistics().used, 0u);
  EXPECT_EQ(allocator->statistics().peak_used, 12 * kMiB);
  allocator.reset();
  EXPECT_TRUE(observed_.empty());
}

TEST_F(DeviceAllocatorTest, SharedChunksGrowWithWhatTheyHold) {
  auto allocator = Make();
  const auto live = AllocateMany(*allocator, 512);
  uint64_t before = 0;
  uint64_t largest = 0;
  for (const auto& [id, chunk] : observed_) {
    EXPECT_LE(chunk.size, std::max(kSmallest, before / 8)) << id;
    before += chunk.size;
    largest = std::max(largest, chunk.size);
  }
  EXPECT_EQ(largest, kLargest);
  // 128 of the smallest would be needed.
  EXPECT_LT(observed_.size(), 50u);
}

TEST_F(DeviceAllocatorTest, ChunksOfTheirOwnDoNotMakeSharedOnesGrow) {
  auto allocator = Make();
  ASSERT_OK(allocator->Allocate(512 * kMiB, nullptr));
  ASSERT_OK_AND_ASSIGN(const Allocation small, allocator->Allocate(1, nullptr));
  EXPECT_EQ(observed_.at(small.block.span).size, kSmallest);
}

TEST_F(DeviceAllocatorTest, WhereALargeChunkIsRefusedASmallOneIsMade) {
  auto allocator = Make(/*limit=*/52 * kMiB);
  const auto live = AllocateMany(*allocator, 48);
  EXPECT_EQ(reserved_, 48 * kMiB);  // An eighth of it is over the limit.
  EXPECT_EQ(AllocateMany(*allocator, 4).size(), 4u);
  EXPECT_EQ(reserved_, 52 * kMiB);
  EXPECT_THAT(allocator->Allocate(kMiB, nullptr),
              StatusIs(absl::StatusCode::kResourceExhausted, "refused"));
}

// A limit that the first chunk of a session would exceed leaves room for small
// buffers.
TEST_F(DeviceAllocatorTest,
       WhereNoSharedChunkMayBeMadeOneAsSmallAsItsBufferIs) {
  auto allocator = Make(kSmallest - 1);
  ASSERT_OK_AND_ASSIGN(const Allocation small, allocator->Allocate(1, nullptr));
  EXPECT_LT(reserved_, kSmallest);
  EXPECT_EQ(reserved_, observed_.at(small.block.span).size);
  // Others lie in it, too.
  ASSERT_OK_AND_ASSIGN(const Allocation next, allocator->Allocate(1, nullptr));
  EXPECT_EQ(next.block.span, small.block.span);
  ASSERT_OK(allocator->Free(small, nullptr));
  ASSERT_OK(allocator->Free(next, nullptr));
  EXPECT_THAT(allocator->Allocate(kSmallest, nullptr),
              StatusIs(absl::StatusCode::kResourceExhausted, "refused"));
}

TEST_F(DeviceAllocatorTest, WhereTheDeviceHasNoLargeChunkASmallOneIsMade) {
  auto allocator = Make();
  const auto live = AllocateMany(*allocator, 48);
  InjectFault<&DriverApi::cuMemCreate>(&api_, 1, CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_OK_AND_ASSIGN(const Allocation next,
                       allocator->Allocate(kMiB, nullptr));
  EXPECT_EQ(observed_.at(next.block.span).size, kSmallest);
  EXPECT_EQ(CallsOf<&DriverApi::cuMemCreate>(), 2);
}

// cuMemGetInfo of a device that is nearly full.
TEST_F(DeviceAllocatorTest, AChunkLeavesOthersTheirPartOfTheDevice) {
  auto allocator = Make();
  const auto live = AllocateMany(*allocator, 256);
  api_.cuMemGetInfo = [](size_t* free, size_t* total) {
    *free = 100 * kMiB;
    *total = 1024 * kMiB;
    return CUDA_SUCCESS;
  };
  const uint64_t before = reserved_;
  while (reserved_ == before) {
    ASSERT_OK(allocator->Allocate(kMiB, nullptr));
  }
  EXPECT_LE(reserved_ - before, 100 * kMiB / 8);
  EXPECT_GE(reserved_ - before, kSmallest);
}

TEST_F(DeviceAllocatorTest, ALargeAllocationTakesRoomAmongOthersIfItMust) {
  auto allocator = Make(/*limit=*/kSmallest);
  ASSERT_OK_AND_ASSIGN(const Allocation small, allocator->Allocate(1, nullptr));
  ASSERT_OK_AND_ASSIGN(const Allocation large,
                       allocator->Allocate(3 * kMiB, nullptr));
  EXPECT_EQ(large.block.span, small.block.span);
  EXPECT_THAT(allocator->AllocateAlone(1),
              StatusIs(absl::StatusCode::kResourceExhausted, "refused"));
  ASSERT_OK(allocator->Free(small, nullptr));
  // The large one keeps the chunk.
  EXPECT_FALSE(allocator->Allocate(2 * kMiB, nullptr).ok());
  ASSERT_OK(allocator->Free(large, nullptr));
  EXPECT_OK(allocator->Allocate(kSmallest, nullptr));
}

TEST_F(DeviceAllocatorTest, NoLargeChunkIsKeptEmpty) {
  auto allocator = Make();
  const auto live = AllocateMany(*allocator, 512);
  for (const Allocation& a : live) ASSERT_OK(allocator->Free(a, nullptr));
  EXPECT_LE(reserved_, kSmallest);
  auto again = AllocateMany(*allocator, 512);
  while (!again.empty()) {
    ASSERT_OK(allocator->Free(again.back(), nullptr));
    again.pop_back();
  }
  EXPECT_LE(reserved_, kSmallest);
}

TEST_F(DeviceAllocatorTest, AChunksBytesOutliveItsMaker) {
  auto allocator = Make();
  ASSERT_OK_AND_ASSIGN(auto host, cuda::HostMemory::Allocate(context_, 4096));
  ASSERT_OK_AND_ASSIGN(auto range,
                       AddressRange::Reserve(context_, 8 * kMiB, 0));
  ASSERT_OK_AND_ASSIGN(auto chunk,
                       Chunk::Create(1, context_, *range, 2 * kMiB));
  const CUdeviceptr address = chunk->address();
  ASSERT_OK(cuda::FillAsync(*stream_, address, 0x1234abcd, 4, 4096));
  ASSERT_OK(stream_->Synchronize());
  UniqueFd kept(fcntl(chunk->descriptor(), F_DUPFD_CLOEXEC, 0));
  chunk.reset();
  ASSERT_OK_AND_ASSIGN(
      chunk,
      Chunk::Import(2, context_, *range, std::move(kept), address, 2 * kMiB));
  ASSERT_OK(cuda::CopyAsync(*stream_, host->device_address(), address, 4096));
  ASSERT_OK(stream_->Synchronize());
  for (int i = 0; i < 1024; ++i) {
    uint32_t word = 0;
    std::memcpy(&word, host->data() + 4 * i, 4);
    ASSERT_EQ(word, 0x1234abcdu) << i;
  }
  EXPECT_THAT(range->TakeAt(address, kMiB),
              StatusIs(absl::StatusCode::kAlreadyExists, "in use"));
}

// Compares with a model, under a limit that refuses chunks now and then; then
// another allocator adopts what is left, at the same places.
TEST_F(DeviceAllocatorTest, LiveAllocationsNeverOverlap) {
  constexpr uint64_t kLimit = 96 * kMiB;
  auto allocator = Make(kLimit);
  std::mt19937 random(7);
  std::map<CUdeviceptr, Allocation> live;
  std::set<uint64_t> sizes;
  const Stream* streams[] = {nullptr, stream_.get(), other_.get()};
  for (int step = 0; step < 3000; ++step) {
    const Stream* stream = streams[random() % 3];
    g_busy = random() % 2 == 0;
    // Fills up, then thins out, in turn.
    const unsigned frees = step / 500 % 2 == 0 ? 3 : 6;
    if (!live.empty() && random() % 10 < frees) {
      auto it = live.lower_bound(random() % 2 ? live.rbegin()->first : 0);
      ASSERT_OK(allocator->Free(it->second, stream));
      live.erase(it);
      continue;
    }
    const uint64_t size = random() % (random() % 8 == 0 ? 5 * kMiB : kMiB);
    const auto allocated = allocator->Allocate(size, stream);
    ASSERT_EQ(reserved_, allocator->statistics().reserved);
    if (!allocated.ok()) {
      // Not even the smallest chunk that would do has room.
      ASSERT_GT(reserved_ + std::max(kSmallest, size), kLimit - 2 * kMiB);
      continue;
    }
    const Allocation& a = *allocated;
    const Kept& chunk = observed_.at(a.block.span);
    ASSERT_GE(a.address, chunk.address);
    ASSERT_LE(a.address + a.block.size, chunk.address + chunk.size);
    sizes.insert(chunk.size);
    const auto next = live.lower_bound(a.address);
    if (next != live.end()) {
      ASSERT_LE(a.address + std::max<uint64_t>(size, 1), next->first);
    }
    if (next != live.begin()) {
      const Allocation& previous = std::prev(next)->second;
      ASSERT_LE(previous.address + previous.size, a.address);
    }
    ASSERT_TRUE(live.emplace(a.address, a).second);
  }
  EXPECT_TRUE(sizes.contains(kSmallest));
  EXPECT_GT(*sizes.rbegin(), 6 * kMiB - 1);
  g_busy = false;
  hint_ = allocator->base();
  auto kept = std::move(observed_);
  observed_.clear();
  for (auto& [id, chunk] : kept) observed_.emplace(id, Kept{});
  allocator.reset();
  ASSERT_TRUE(observed_.empty());

  allocator = Make(kLimit);
  allocator->BeginAdoption();
  for (const auto& [address, a] : live) {
    Kept& chunk = kept.at(a.block.span);
    if (!allocator->HasChunk(a.block.span)) {
      ASSERT_OK(allocator->Adopt(a.block.span, std::move(chunk.descriptor),
                                 chunk.address, chunk.size,
                                 /*shared=*/a.block.size != chunk.size));
      observed_.emplace(a.block.span, Kept{});
    }
    ASSERT_OK_AND_ASSIGN(const Allocation again,
                         allocator->AllocateAt(a.block, a.size, false));
    ASSERT_EQ(again.address, address);
  }
  allocator->EndAdoption();
  EXPECT_EQ(reserved_, allocator->statistics().reserved);
  for (const auto& [address, a] : live) {
    ASSERT_OK(allocator->Free(a, stream_.get()));
  }
  ASSERT_OK(stream_->Synchronize());
  // Adopted chunks are released as its own are.
  EXPECT_OK(allocator->Allocate(kLimit, nullptr));
}

// As a successor process does.
TEST_F(DeviceAllocatorTest, AdoptedChunksHaveTheirBytesAtTheirAddresses) {
  std::map<uint32_t, Kept> kept;
  AllocatorOptions maker;
  maker.chunk_bytes = 4 * kMiB;
  maker.chunk_created = [&kept](const Chunk& chunk) {
    kept.emplace(chunk.id(), Kept{UniqueFd(dup(chunk.descriptor())),
                                  chunk.address(), chunk.size()});
  };
  ASSERT_OK_AND_ASSIGN(auto first,
                       DeviceAllocator::Create(context_, std::move(maker)));
  ASSERT_OK_AND_ASSIGN(const Allocation small, first->Allocate(100, nullptr));
  ASSERT_OK_AND_ASSIGN(const Allocation alone, first->AllocateAlone(100));
  ASSERT_OK(cuda::FillAsync(*stream_, small.address, 7, 1, 100));
  ASSERT_OK(stream_->Synchronize());
  const CUdeviceptr base = first->base();
  first = nullptr;

  AllocatorOptions options;
  options.chunk_bytes = 4 * kMiB;
  options.address_hint = base;
  ASSERT_OK_AND_ASSIGN(auto second,
                       DeviceAllocator::Create(context_, std::move(options)));
  ASSERT_EQ(second->base(), base);
  second->BeginAdoption();
  for (auto& [id, chunk] : kept) {
    ASSERT_OK(second->Adopt(id, std::move(chunk.descriptor), chunk.address,
                            chunk.size, /*shared=*/id == small.block.span));
  }
  ASSERT_OK_AND_ASSIGN(const Allocation again,
                       second->AllocateAt(small.block, 100, false));
  EXPECT_EQ(again.address, small.address);
  EXPECT_FALSE(second->AllocateAt(small.block, 100, false).ok());
  EXPECT_FALSE(second->AllocateAt({99, 0, 512}, 100, false).ok());
  ASSERT_OK_AND_ASSIGN(const auto bytes,
                       cuda::HostMemory::Allocate(context_, 100));
  ASSERT_OK(
      cuda::CopyAsync(*stream_, bytes->device_address(), again.address, 100));
  ASSERT_OK(stream_->Synchronize());
  EXPECT_EQ(bytes->data()[99], 7);
  // Freed while it adopts, a place can be had again.
  ASSERT_OK(second->AllocateAt(alone.block, 100, true));
  ASSERT_OK(second->Free({alone.address, 100, alone.block}, nullptr));
  ASSERT_OK(second->AllocateAt(alone.block, 100, true));
  ASSERT_OK(second->Free({alone.address, 100, alone.block}, nullptr));
  EXPECT_EQ(second->statistics().chunks, 2u);
  second->EndAdoption();
  EXPECT_EQ(second->statistics().chunks, 1u);
  // New chunks have names of their own.
  ASSERT_OK_AND_ASSIGN(const Allocation next, second->AllocateAlone(100));
  EXPECT_GT(next.block.span, alone.block.span);
}

// One that the process before had freed may be held by others.
TEST_F(DeviceAllocatorTest, IdsBeginWhereTheOptionsSay) {
  AllocatorOptions options;
  options.first_chunk = 1000;
  ASSERT_OK_AND_ASSIGN(auto allocator,
                       DeviceAllocator::Create(context_, std::move(options)));
  ASSERT_OK_AND_ASSIGN(const Allocation first, allocator->AllocateAlone(100));
  EXPECT_EQ(first.block.span, 1000u);
  ASSERT_OK_AND_ASSIGN(const Allocation next, allocator->AllocateAlone(100));
  EXPECT_EQ(next.block.span, 1001u);
}

TEST_F(DeviceAllocatorTest, WhatIsNoChunkIsNotAdopted) {
  auto allocator = Make();
  EXPECT_FALSE(allocator
                   ->Adopt(7, UniqueFd(open("/dev/null", O_RDONLY)),
                           allocator->base(), 4 * kMiB, true)
                   .ok());
  EXPECT_FALSE(
      allocator->Adopt(0, UniqueFd(), allocator->base(), 4 * kMiB, true).ok());
  EXPECT_FALSE(
      allocator->Adopt(7, UniqueFd(), allocator->base(), 1, true).ok());
  EXPECT_EQ(reserved_, 0u);
}

// What a driver that checks buffers is told of.
struct Told {
  absl::Mutex mutex;
  std::map<CUdeviceptr, uint64_t> sizes ABSL_GUARDED_BY(mutex);

  static Told& Get() {
    static Told& told = *new Told;
    return told;
  }
  static void Add(CUdeviceptr address, size_t size) {
    absl::MutexLock lock(&Get().mutex);
    EXPECT_TRUE(Get().sizes.emplace(address, size).second) << address;
  }
  static void Remove(void* address) {
    absl::MutexLock lock(&Get().mutex);
    EXPECT_EQ(Get().sizes.erase(reinterpret_cast<CUdeviceptr>(address)), 1u);
  }
  static uint64_t SizeAt(CUdeviceptr address) {
    absl::MutexLock lock(&Get().mutex);
    const auto found = Get().sizes.find(address);
    return found == Get().sizes.end() ? 0 : found->second;
  }
};

class CheckedAllocatorTest : public DeviceAllocatorTest {
 protected:
  void SetUp() override {
    DeviceAllocatorTest::SetUp();
    api_.add_buffer = &Told::Add;
    api_.remove_buffer = &Told::Remove;
  }
};

TEST_F(CheckedAllocatorTest, EachBufferIsTrueToItsSizeAndHasAGapBehindIt) {
  const auto allocator = Make();
  for (const uint64_t size : {uint64_t{1}, uint64_t{512}, kMiB, 8 * kMiB}) {
    ASSERT_OK_AND_ASSIGN(const Allocation first,
                         allocator->Allocate(size, stream_.get()));
    EXPECT_EQ(Told::SizeAt(first.address), size);
    EXPECT_GE(first.block.size, size + 4096);
    EXPECT_OK(allocator->Free(first, nullptr));
    EXPECT_EQ(Told::SizeAt(first.address), 0u);
  }
  ASSERT_OK_AND_ASSIGN(const Allocation alone, allocator->AllocateAlone(100));
  EXPECT_EQ(Told::SizeAt(alone.address), 100u);
  EXPECT_OK(allocator->Free(alone, nullptr));
}

TEST_F(CheckedAllocatorTest, ABufferIsThereUntilItsStreamHasReachedTheFree) {
  static std::atomic<bool> go;
  go = false;
  const auto allocator = Make();
  ASSERT_OK_AND_ASSIGN(const Allocation freed,
                       allocator->Allocate(100, stream_.get()));
  const auto wait = [](void*) {
    while (!go) usleep(1000);
  };
  ASSERT_EQ(api_.cuLaunchHostFunc(stream_->handle(), wait, nullptr),
            CUDA_SUCCESS);
  EXPECT_OK(allocator->Free(freed, stream_.get()));
  EXPECT_EQ(Told::SizeAt(freed.address), 100u);
  go = true;
  EXPECT_OK(stream_->Synchronize());
  EXPECT_EQ(Told::SizeAt(freed.address), 0u);
  // Without the check, the stream would get it again.
  ASSERT_OK_AND_ASSIGN(const Allocation next,
                       allocator->Allocate(100, stream_.get()));
  EXPECT_NE(next.address, freed.address);
  EXPECT_OK(allocator->Free(next, nullptr));
}

TEST_F(CheckedAllocatorTest, AFreeThatFailsLeavesTheBuffer) {
  const auto allocator = Make();
  ASSERT_OK_AND_ASSIGN(const Allocation made,
                       allocator->Allocate(100, stream_.get()));
  InjectFault<&DriverApi::cuEventCreate>(&api_, 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_TRUE(absl::IsResourceExhausted(allocator->Free(made, stream_.get())));
  EXPECT_OK(stream_->Synchronize());
  EXPECT_EQ(Told::SizeAt(made.address), 100u);
  EXPECT_OK(allocator->Free(made, stream_.get()));
  EXPECT_OK(stream_->Synchronize());
  EXPECT_EQ(Told::SizeAt(made.address), 0u);
}

TEST_F(CheckedAllocatorTest, WhatIsFreedServesBeforeMemoryRunsOut) {
  const auto allocator = Make(kSmallest);
  for (int i = 0; i < 50; ++i) {
    ASSERT_OK_AND_ASSIGN(const Allocation made,
                         allocator->Allocate(kMiB, stream_.get()));
    EXPECT_OK(allocator->Free(made, stream_.get()));
  }
  EXPECT_LE(allocator->statistics().reserved, kSmallest);
}

}  // namespace
}  // namespace holdfast::memory
