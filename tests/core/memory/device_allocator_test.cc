// SPDX-License-Identifier: Apache-2.0
#include "core/memory/device_allocator.h"

#include <fcntl.h>

#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <vector>

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
    options.chunk_bytes = 4 * kMiB;
    options.reserve = [this, limit](uint64_t bytes) {
      if (bytes > limit - reserved_) {
        return absl::ResourceExhaustedError("refused");
      }
      reserved_ += bytes;
      return absl::OkStatus();
    };
    options.release = [this](uint64_t bytes) { reserved_ -= bytes; };
    options.chunk_created = [this](const Chunk& chunk) {
      EXPECT_NE(fcntl(chunk.descriptor(), F_GETFD), -1);
      EXPECT_TRUE(observed_.insert(chunk.id()).second);
    };
    options.chunk_released = [this](const Chunk& chunk) {
      EXPECT_EQ(observed_.erase(chunk.id()), 1u);
    };
    auto allocator = DeviceAllocator::Create(context_, std::move(options));
    EXPECT_OK(allocator);
    return *std::move(allocator);
  }

  DriverApi api_;
  std::shared_ptr<const cuda::Context> context_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Stream> other_;
  std::set<uint32_t> observed_;
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

TEST_F(DeviceAllocatorTest, LiveAllocationsNeverOverlap) {
  auto allocator = Make();
  std::mt19937 random(7);
  std::map<CUdeviceptr, Allocation> live;
  const Stream* streams[] = {nullptr, stream_.get(), other_.get()};
  for (int step = 0; step < 1500; ++step) {
    const Stream* stream = streams[random() % 3];
    g_busy = random() % 2 == 0;
    if (live.size() > 40 || (!live.empty() && random() % 2 == 0)) {
      auto it = live.lower_bound(random() % 2 ? live.rbegin()->first : 0);
      ASSERT_OK(allocator->Free(it->second, stream));
      live.erase(it);
      continue;
    }
    const uint64_t size = random() % (random() % 8 == 0 ? 5 * kMiB : 65536);
    ASSERT_OK_AND_ASSIGN(const Allocation a, allocator->Allocate(size, stream));
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
  g_busy = false;
}

}  // namespace
}  // namespace holdfast::memory
