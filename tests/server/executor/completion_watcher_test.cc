// SPDX-License-Identifier: Apache-2.0
#include "server/executor/submission/completion_watcher.h"

#include <memory>
#include <optional>

#include "core/cuda/copy.h"
#include "core/cuda/stream_value.h"
#include "tests/testing/fault_injecting_driver.h"
#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::executor {
namespace {

using holdfast::testing::CallsOf;
using holdfast::testing::InjectFault;
using holdfast::testing::SoftwareContext;
using holdfast::testing::SoftwareDriver;

constexpr auto kCreate = &cuda::DriverApi::cuEventCreate;
constexpr auto kRecord = &cuda::DriverApi::cuEventRecord;
constexpr auto kSynchronize = &cuda::DriverApi::cuStreamSynchronize;

class CompletionWatcherTest : public ::testing::Test {
 protected:
  void SetUp() override {
    InjectFault<kRecord>(&api_, 0, CUDA_SUCCESS);
    InjectFault<kSynchronize>(&api_, 0, CUDA_SUCCESS);
    context_ = SoftwareContext(api_);
    auto stream = cuda::Stream::Create(context_, {});
    ASSERT_OK(stream.status());
    stream_ = *std::move(stream);
  }

  cuda::DriverApi api_ = SoftwareDriver().api;
  std::shared_ptr<const cuda::Context> context_;
  std::unique_ptr<cuda::Stream> stream_;
  int handed_on_ = 0;
  CompletionWatcher watcher_{[this] { ++handed_on_; }};
};

TEST_F(CompletionWatcherTest, AStreamThatIsDoneIsFoundWithoutAMark) {
  const auto end = watcher_.LookClosely(*stream_, [] { return false; });
  ASSERT_TRUE(end.has_value());
  EXPECT_OK(*end);
  EXPECT_EQ(CallsOf<kRecord>(), 0);
}

TEST_F(CompletionWatcherTest, OutputIsAskedForWhereKernelsMayPrint) {
  const auto look = [&] {
    ASSERT_OK(*watcher_.LookClosely(*stream_, [] { return false; }));
    watcher_.Watch({*watcher_.RecordEvent(*stream_)},
                   [](const absl::Status& status) { ASSERT_OK(status); });
  };
  look();
  EXPECT_EQ(handed_on_, 0);
  EXPECT_EQ(CallsOf<kSynchronize>(), 0);
  watcher_.ExpectOutput();
  look();
  EXPECT_EQ(handed_on_, 2);
  EXPECT_EQ(CallsOf<kSynchronize>(), 1);
}

TEST_F(CompletionWatcherTest, WorkIsNotGivenIfItsEndCannotBeMarked) {
  InjectFault<kCreate>(&api_, 1, CUDA_ERROR_OUT_OF_MEMORY);
  bool given = false;
  const auto mark = watcher_.RecordAfter(*stream_, [&] {
    given = true;
    return absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsResourceExhausted(mark.status())) << mark.status();
  EXPECT_FALSE(given);
}

TEST_F(CompletionWatcherTest, WorkThatTheDriverAcceptsCountsAsGiven) {
  InjectFault<kRecord>(&api_, 1, CUDA_ERROR_LAUNCH_FAILED);
  const auto mark =
      watcher_.RecordAfter(*stream_, [] { return absl::OkStatus(); });
  ASSERT_OK(mark.status());
  const auto reached = (*mark)->Query();
  ASSERT_OK(reached.status());
  EXPECT_TRUE(*reached);
}

TEST_F(CompletionWatcherTest, ARefusalOfTheWorkIsTheError) {
  const auto mark =
      watcher_.RecordAfter(*stream_, [] { return absl::AbortedError("no"); });
  EXPECT_TRUE(absl::IsAborted(mark.status())) << mark.status();
  EXPECT_EQ(CallsOf<kRecord>(), 0);
}

TEST_F(CompletionWatcherTest, AStreamThatIsBusyIsLeftForOtherWork) {
  CUdeviceptr word = 0;
  ASSERT_EQ(api_.cuCtxSetCurrent(context_->handle()), CUDA_SUCCESS);
  ASSERT_EQ(api_.cuMemAlloc(&word, sizeof(uint64_t)), CUDA_SUCCESS);
  ASSERT_OK(cuda::FillAsync(*stream_, word, 0, 1, sizeof(uint64_t)));
  ASSERT_OK(stream_->Synchronize());
  ASSERT_OK(cuda::WaitValueAsync(*stream_, word, 1));
  int looks = 0;
  EXPECT_EQ(watcher_.LookClosely(*stream_,
                                 [&] {
                                   ++looks;
                                   return false;
                                 }),
            std::nullopt);
  EXPECT_LE(looks, 1);
  const auto other = cuda::Stream::Create(context_, {});
  ASSERT_OK(other.status());
  ASSERT_OK(cuda::WriteValueAsync(**other, word, 1));
  ASSERT_OK(stream_->Synchronize());
  EXPECT_EQ(api_.cuMemFree(word), CUDA_SUCCESS);
}

}  // namespace
}  // namespace holdfast::executor
