// SPDX-License-Identifier: Apache-2.0
//
// Streams of a process that the system allows no more threads.
#include "tests/testing/thread_refusal.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "core/cuda/event.h"
#include "core/cuda/host_memory.h"
#include "core/cuda/stream.h"
#include "core/cuda/stream_value.h"
#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::software {
namespace {

using ::holdfast::testing::SoftwareContext;
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

}  // namespace
}  // namespace holdfast::software
