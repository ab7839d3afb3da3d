// SPDX-License-Identifier: Apache-2.0
//
// Streams of a process that the system allows no more threads.
#include "tests/testing/thread_refusal.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/cuda/event.h"
#include "core/cuda/host_memory.h"
#include "core/cuda/stream.h"
#include "core/cuda/stream_value.h"
#include "tests/testing/memory_limit.h"
#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::software {
namespace {

using ::holdfast::testing::MemoryLimit;
using ::holdfast::testing::SoftwareContext;
using ::holdfast::testing::SoftwareDriver;
using ::holdfast::testing::StatusIs;
using ::holdfast::testing::ThreadRefusal;

class ThreadRefusalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!ThreadRefusal::kWorks) GTEST_SKIP();
    ASSERT_OK_AND_ASSIGN(memory_, cuda::HostMemory::Allocate(context_, 64));
    ASSERT_OK_AND_ASSIGN(stream_, cuda::Stream::Create(context_, {}));
  }

  // For a value that is there when `Signal` has been called.
  absl::Status Wait() {
    return cuda::WaitValueAsync(*stream_, memory_->device_address(), 1);
  }
  void Signal() { *reinterpret_cast<volatile uint64_t*>(memory_->data()) = 1; }

  const std::shared_ptr<const cuda::Context> context_ = SoftwareContext();
  std::unique_ptr<cuda::HostMemory> memory_;
  std::unique_ptr<cuda::Stream> stream_;
};

TEST_F(ThreadRefusalTest, WorkThatNeedsAThreadIsRefusedAndSaysWhy) {
  const ThreadRefusal refusal;
  EXPECT_THAT(Wait(), StatusIs(absl::StatusCode::kResourceExhausted,
                               "the system allows no more threads"));
  EXPECT_OK(stream_->Synchronize());  // It has nothing to do.
}

TEST_F(ThreadRefusalTest, TheStreamGoesOnWhenThereAreThreadsAgain) {
  {
    const ThreadRefusal refusal;
    EXPECT_FALSE(Wait().ok());
  }
  ASSERT_OK(Wait());
  Signal();
  EXPECT_OK(stream_->Synchronize());
}

// Each stream that waits has a thread, and each thread a stack. The last bytes
// below the limit belong to the heap.
TEST_F(ThreadRefusalTest, StacksOfStreamsLeaveMemoryForEverythingElse) {
  constexpr uint64_t kLimit = uint64_t{1} << 30;
  constexpr int kStreams = 200;  // Their stacks of 8 MiB are 1600 MiB.
  std::vector<std::unique_ptr<cuda::Stream>> streams;
  for (int i = 0; i < kStreams; ++i) {
    ASSERT_OK_AND_ASSIGN(auto stream, cuda::Stream::Create(context_, {}));
    streams.push_back(std::move(stream));
  }
  absl::Status status;
  {
    const MemoryLimit limit(kLimit);
    for (auto stream = streams.begin(); status.ok() && stream != streams.end();
         ++stream) {
      status = cuda::WaitValueAsync(**stream, memory_->device_address(), 1);
    }
    const std::vector<char> heap(kLimit / 8, 1);
    EXPECT_EQ(heap.back(), 1);
  }
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "bytes of memory of the process's own (RLIMIT_DATA)"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               "streams have a thread"));
  Signal();
  for (const auto& stream : streams) EXPECT_OK(stream->Synchronize());
}

// The mark behind work would have to be reached by a thread.
TEST_F(ThreadRefusalTest, AnEventBehindWorkIsRefusedAndStaysWhereItWas) {
  ASSERT_OK_AND_ASSIGN(const auto other, cuda::Stream::Create(context_, {}));
  ASSERT_OK_AND_ASSIGN(const auto event, cuda::Event::Create(context_, {}));
  ASSERT_OK(Wait());
  ASSERT_OK(event->Record(*stream_));
  {
    const ThreadRefusal refusal;
    EXPECT_THAT(
        other->Wait(*event),
        StatusIs(absl::StatusCode::kResourceExhausted, "no more threads"));
  }
  Signal();
  EXPECT_OK(other->Synchronize());
  EXPECT_OK(event->Synchronize());
}

// A free in a stream that waits for the default stream, which waits for
// `Signal`.
class FreeTest : public ThreadRefusalTest {
 protected:
  void SetUp() override {
    if (!ThreadRefusal::kWorks) GTEST_SKIP();
    ASSERT_NO_FATAL_FAILURE(ThreadRefusalTest::SetUp());
    ASSERT_EQ(api_.cuCtxSetCurrent(context_->handle()), CUDA_SUCCESS);
    ASSERT_OK_AND_ASSIGN(
        blocking_, cuda::Stream::Create(context_, {.non_blocking = false}));
    CUdeviceptr freed = 0;
    ASSERT_EQ(api_.cuMemAllocAsync(&freed, 64, blocking_->handle()),
              CUDA_SUCCESS);
    ASSERT_EQ(api_.cuMemAlloc(&other_, 64), CUDA_SUCCESS);
    ASSERT_EQ(
        api_.cuStreamWaitValue64(CU_STREAM_LEGACY, memory_->device_address(), 1,
                                 CU_STREAM_WAIT_VALUE_EQ),
        CUDA_SUCCESS);
    refusal_.emplace();
    ASSERT_EQ(api_.cuMemFreeAsync(freed, blocking_->handle()), CUDA_SUCCESS);
  }

  const cuda::DriverApi& api_ = SoftwareDriver().api;
  std::unique_ptr<cuda::Stream> blocking_;
  CUdeviceptr other_ = 0;
  std::optional<ThreadRefusal> refusal_;
};

TEST_F(FreeTest, ThatNoThreadDoesHoldsUpNoFreeOfOtherMemory) {
  EXPECT_EQ(api_.cuMemFree(other_), CUDA_SUCCESS);
  EXPECT_EQ(api_.cuStreamQuery(blocking_->handle()), CUDA_ERROR_NOT_READY);
  Signal();
  EXPECT_OK(blocking_->Synchronize());
}

TEST_F(FreeTest, ThatNoThreadDoesIsDoneByAFreeOfOtherMemory) {
  Signal();
  ASSERT_EQ(api_.cuStreamSynchronize(CU_STREAM_LEGACY), CUDA_SUCCESS);
  EXPECT_EQ(api_.cuMemFree(other_), CUDA_SUCCESS);
  EXPECT_EQ(api_.cuStreamQuery(blocking_->handle()), CUDA_SUCCESS);
}

TEST_F(FreeTest, ThatNoThreadDoesIsDoneByAQuery) {
  Signal();
  ASSERT_EQ(api_.cuStreamSynchronize(CU_STREAM_LEGACY), CUDA_SUCCESS);
  EXPECT_EQ(api_.cuStreamQuery(blocking_->handle()), CUDA_SUCCESS);
  EXPECT_EQ(api_.cuMemFree(other_), CUDA_SUCCESS);
}

// The default stream has a thread, which waits for the free.
TEST_F(FreeTest, ThatNoThreadDoesIsDoneForAStreamThatWaits) {
  ASSERT_EQ(
      api_.cuStreamWaitValue64(CU_STREAM_LEGACY, memory_->device_address(), 1,
                               CU_STREAM_WAIT_VALUE_EQ),
      CUDA_SUCCESS);
  Signal();
  EXPECT_EQ(api_.cuStreamSynchronize(CU_STREAM_LEGACY), CUDA_SUCCESS);
  EXPECT_EQ(api_.cuMemFree(other_), CUDA_SUCCESS);
}

}  // namespace
}  // namespace holdfast::software
