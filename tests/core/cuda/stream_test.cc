// SPDX-License-Identifier: Apache-2.0
//
// Streams, events, copies and fills through the RAII types.
#include "core/cuda/stream.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "core/cuda/copy.h"
#include "core/cuda/event.h"
#include "core/cuda/host_memory.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"
#include "tests/testing/fault_injecting_driver.h"
#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::cuda {
namespace {

using holdfast::testing::CallsOf;
using holdfast::testing::InjectFault;
using holdfast::testing::SoftwareContext;
using holdfast::testing::SoftwareDriver;
using holdfast::testing::StatusIs;

class StreamTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Context> context_ = SoftwareContext();
};

TEST_F(StreamTest, PriorityOutsideTheRangeIsRefused) {
  StreamOptions options;
  options.priority = context_->least_stream_priority() + 1;
  EXPECT_THAT(
      Stream::Create(context_, options),
      StatusIs(absl::StatusCode::kInvalidArgument, "stream priority 1"));
  options.priority = context_->greatest_stream_priority() - 1;
  EXPECT_FALSE(Stream::Create(context_, options).ok());
  options.priority = context_->greatest_stream_priority();
  EXPECT_OK(Stream::Create(context_, options));
}

TEST_F(StreamTest, IdsAreNeverReused) {
  ASSERT_OK_AND_ASSIGN(auto first, Stream::Create(context_, {}));
  const uint64_t id = first->id();
  first.reset();
  ASSERT_OK_AND_ASSIGN(auto second, Stream::Create(context_, {}));
  EXPECT_NE(second->id(), id);
}

TEST_F(StreamTest, AFailedCreateDestroysNothing) {
  DriverApi api = SoftwareDriver().api;
  InjectFault<&DriverApi::cuStreamCreateWithPriority>(&api, 1,
                                                      CUDA_ERROR_OUT_OF_MEMORY);
  InjectFault<&DriverApi::cuStreamDestroy>(&api, 0, CUDA_SUCCESS);
  const auto context = SoftwareContext(api);
  EXPECT_THAT(Stream::Create(context, {}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "cuStreamCreateWithPriority"));
  EXPECT_EQ(CallsOf<&DriverApi::cuStreamDestroy>(), 0);
}

TEST_F(StreamTest, TheCallersContextIsRestored) {
  const DriverApi& api = context_->api();
  ASSERT_EQ(api.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  {
    ScopedContext current(*context_);
    ASSERT_OK(current.status());
    CUcontext inside = nullptr;
    api.cuCtxGetCurrent(&inside);
    EXPECT_EQ(inside, context_->handle());
  }
  CUcontext after = context_->handle();
  api.cuCtxGetCurrent(&after);
  EXPECT_EQ(after, nullptr);
}

TEST_F(StreamTest, FillAndCopyInOrder) {
  ASSERT_OK_AND_ASSIGN(auto stream, Stream::Create(context_, {}));
  ASSERT_OK_AND_ASSIGN(auto a, HostMemory::Allocate(context_, 4096));
  ASSERT_OK_AND_ASSIGN(auto b, HostMemory::Allocate(context_, 4096));
  EXPECT_OK(FillAsync(*stream, a->device_address(), 0x12345678, 4, 4096));
  EXPECT_OK(FillAsync(*stream, a->device_address() + 2, 0xabcd, 2, 2));
  EXPECT_OK(FillAsync(*stream, a->device_address() + 4095, 0x7f, 1, 1));
  EXPECT_OK(CopyAsync(*stream, b->device_address(), a->device_address(), 4096));
  ASSERT_OK(stream->Synchronize());
  uint32_t first = 0;
  std::memcpy(&first, b->data(), 4);
  EXPECT_EQ(first, 0xabcd5678u);
  EXPECT_EQ(b->data()[4095], 0x7f);
  EXPECT_EQ(b->data()[4092], 0x78);
}

TEST_F(StreamTest, FillsThatDoNotFitAreRefused) {
  ASSERT_OK_AND_ASSIGN(auto stream, Stream::Create(context_, {}));
  ASSERT_OK_AND_ASSIGN(auto memory, HostMemory::Allocate(context_, 64));
  const CUdeviceptr at = memory->device_address();
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(FillAsync(*stream, at, 0, 3, 9), StatusIs(invalid, "3 bytes"));
  EXPECT_THAT(FillAsync(*stream, at, 256, 1, 1), StatusIs(invalid, "256"));
  EXPECT_THAT(FillAsync(*stream, at, 65536, 2, 2), StatusIs(invalid, "65536"));
  EXPECT_THAT(FillAsync(*stream, at, 1, 4, 6), StatusIs(invalid, "multiples"));
  EXPECT_THAT(FillAsync(*stream, at + 1, 1, 2, 2),
              StatusIs(invalid, "multiples"));
}

TEST_F(StreamTest, RangesAreCheckedWithoutOverflow) {
  const uint64_t max = ~uint64_t{0};
  EXPECT_OK(CheckRange("buffer", 0, 0, 0));
  EXPECT_OK(CheckRange("buffer", 4, 4, 8));
  EXPECT_OK(CheckRange("buffer", 8, 0, 8));
  EXPECT_THAT(CheckRange("buffer 7", 4, 5, 8),
              StatusIs(absl::StatusCode::kOutOfRange,
                       "5 bytes at offset 4 of buffer 7, which has 8 bytes"));
  EXPECT_FALSE(CheckRange("buffer", max, 2, 8).ok());
  EXPECT_FALSE(CheckRange("buffer", 2, max, 8).ok());
  EXPECT_FALSE(CheckRange("buffer", max, max, 8).ok());
}

TEST_F(StreamTest, ElapsedTimeHasThreeDifferentRefusals) {
  ASSERT_OK_AND_ASSIGN(auto stream, Stream::Create(context_, {}));
  EventOptions timing;
  timing.timing = true;
  ASSERT_OK_AND_ASSIGN(auto plain, Event::Create(context_, {}));
  ASSERT_OK_AND_ASSIGN(auto start, Event::Create(context_, timing));
  ASSERT_OK_AND_ASSIGN(auto end, Event::Create(context_, timing));
  const auto precondition = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(ElapsedMilliseconds(*plain, *end),
              StatusIs(precondition, "with timing"));
  EXPECT_THAT(ElapsedMilliseconds(*start, *end),
              StatusIs(precondition, "been recorded"));
  ASSERT_OK(start->Record(*stream));
  ASSERT_OK(end->Record(*stream));
  ASSERT_OK(end->Synchronize());
  ASSERT_OK_AND_ASSIGN(const float elapsed, ElapsedMilliseconds(*start, *end));
  EXPECT_GE(elapsed, 0.0f);
  EXPECT_TRUE(*end->Query());
}

TEST_F(StreamTest, NotReadyIsAnAnswerAndOtherErrorsAreNot) {
  DriverApi api = SoftwareDriver().api;
  const auto context = SoftwareContext(api);
  ASSERT_OK_AND_ASSIGN(auto stream, Stream::Create(context, {}));
  InjectFault<&DriverApi::cuStreamQuery>(&api, 1, CUDA_ERROR_NOT_READY);
  EXPECT_FALSE(*stream->Query());
  InjectFault<&DriverApi::cuStreamQuery>(&api, 1, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_TRUE(IsSticky(stream->Query().status()));
}

}  // namespace
}  // namespace holdfast::cuda
