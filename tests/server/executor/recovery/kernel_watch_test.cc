// SPDX-License-Identifier: Apache-2.0
#include "server/executor/submission/kernel_watch.h"

#include <memory>
#include <utility>

#include "absl/synchronization/notification.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/cuda/copy.h"
#include "core/cuda/stream_value.h"
#include "core/memory/device_allocator.h"
#include "server/rpc/status_conversion.h"
#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::executor {
namespace {

using cuda::Stream;
using holdfast::testing::SoftwareContext;
using holdfast::testing::StatusIs;
using std::chrono::hours;

constexpr absl::Duration kLimit = absl::Hours(1);

// Launches here are waits for a gate, which is a word of device memory: they
// run until the test opens it. Time is what the test says.
class KernelWatchTest : public ::testing::Test {
 protected:
  static constexpr int kGates = 4;

  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(stream_, Stream::Create(context_, {}));
    ASSERT_OK_AND_ASSIGN(other_, Stream::Create(context_, {}));
    ASSERT_OK_AND_ASSIGN(hand_, Stream::Create(context_, {}));
    ASSERT_OK_AND_ASSIGN(allocator_,
                         memory::DeviceAllocator::Create(context_, {}));
    ASSERT_OK_AND_ASSIGN(gates_, allocator_->Allocate(8 * kGates, nullptr));
    ASSERT_OK(cuda::FillAsync(*hand_, gates_.address, 0, 1, 8 * kGates));
    ASSERT_OK(hand_->Synchronize());
  }
  void TearDown() override {
    for (int gate = 0; gate < kGates; ++gate) Open(gate);
    ASSERT_OK(stream_->Synchronize());
    ASSERT_OK(other_->Synchronize());
  }

  uint64_t At(int gate) const {
    return gates_.address + 8 * static_cast<uint64_t>(gate);
  }
  void Open(int gate) {
    ASSERT_OK(cuda::WriteValueAsync(*hand_, At(gate), 1));
    ASSERT_OK(hand_->Synchronize());
  }
  absl::Status Pass(const Stream& stream, int gate) {
    return cuda::WaitValueAsync(stream, At(gate), 1);
  }
  absl::Status Launch(const Stream& stream, uint64_t sequence, int gate) {
    return watch_.Launch(stream, {.sequence = sequence, .kernels = {"k"}},
                         [&]() -> absl::Status {
                           HOLDFAST_ASSIGN_OR_RETURN(
                               begun_, events_->RecordEvent(stream));
                           return Pass(stream, gate);
                         });
  }
  // Waits until the last launch runs.
  void AwaitBegun() { ASSERT_OK(begun_->Synchronize()); }

  const std::shared_ptr<const cuda::Context> context_ = SoftwareContext();
  const std::shared_ptr<EventPool> events_ = std::make_shared<EventPool>();
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Stream> other_;
  std::unique_ptr<Stream> hand_;
  std::unique_ptr<memory::DeviceAllocator> allocator_;
  memory::Allocation gates_;
  std::shared_ptr<const cuda::Event> begun_;
  KernelWatch watch_{{.limit = kLimit, .exceeded = nullptr}};
  KernelWatch::Clock::time_point now_;
};

TEST_F(KernelWatchTest, ALaunchThatRunsLongerThanTheLimitIsFound) {
  ASSERT_OK(Launch(*stream_, 7, 0));
  AwaitBegun();
  EXPECT_FALSE(watch_.Look(now_).has_value());
  EXPECT_FALSE(watch_.Look(now_ + hours(1)).has_value());
  const auto overrun = watch_.Look(now_ + hours(2));
  ASSERT_TRUE(overrun.has_value());
  EXPECT_EQ(overrun->launch.sequence, 7u);
  EXPECT_EQ(overrun->ran, absl::Hours(2));
}

TEST_F(KernelWatchTest, ALaunchThatHasEndedIsForgotten) {
  ASSERT_OK(Launch(*stream_, 1, 0));
  EXPECT_FALSE(watch_.Look(now_).has_value());
  EXPECT_EQ(watch_.watched(), 1u);
  Open(0);
  ASSERT_OK(stream_->Synchronize());
  EXPECT_FALSE(watch_.Look(now_ + hours(2)).has_value());
  EXPECT_EQ(watch_.watched(), 0u);
}

TEST_F(KernelWatchTest, WaitingInTheStreamIsNotRunning) {
  ASSERT_OK(Pass(*stream_, 0));
  ASSERT_OK(Launch(*stream_, 1, 1));
  for (int i = 0; i < 3; ++i) {
    now_ += hours(2);
    EXPECT_FALSE(watch_.Look(now_).has_value());
  }
  Open(0);
  AwaitBegun();
  EXPECT_FALSE(watch_.Look(now_).has_value());
  const auto overrun = watch_.Look(now_ + hours(2));
  ASSERT_TRUE(overrun.has_value());
  EXPECT_EQ(overrun->launch.sequence, 1u);
}

// With numbers in a row the launches share a mark; with others they do not.
TEST_F(KernelWatchTest, EachLaunchHasATimeOfItsOwn) {
  for (const uint64_t second : {uint64_t{2}, uint64_t{9}}) {
    const int gate = second == 2 ? 0 : 2;
    ASSERT_OK(Launch(*stream_, 1, gate));
    AwaitBegun();
    ASSERT_OK(Launch(*stream_, second, gate + 1));
    now_ += hours(2);
    EXPECT_FALSE(watch_.Look(now_).has_value());
    Open(gate);
    AwaitBegun();
    now_ += hours(2);
    EXPECT_FALSE(watch_.Look(now_).has_value());
    const auto overrun = watch_.Look(now_ + hours(2));
    ASSERT_TRUE(overrun.has_value());
    EXPECT_EQ(overrun->launch.sequence, second);
    EXPECT_EQ(overrun->ran, absl::Hours(2));
    Open(gate + 1);
    ASSERT_OK(stream_->Synchronize());
    EXPECT_FALSE(watch_.Look(now_ + hours(2)).has_value());
  }
}

TEST_F(KernelWatchTest, OfSeveralStreamsTheOneThatRanLongestIsNamed) {
  ASSERT_OK(Launch(*stream_, 1, 0));
  AwaitBegun();
  EXPECT_FALSE(watch_.Look(now_).has_value());
  ASSERT_OK(Launch(*other_, 2, 1));
  AwaitBegun();
  EXPECT_FALSE(watch_.Look(now_ + std::chrono::minutes(1)).has_value());
  const auto overrun = watch_.Look(now_ + hours(2));
  ASSERT_TRUE(overrun.has_value());
  EXPECT_EQ(overrun->launch.sequence, 1u);
}

TEST_F(KernelWatchTest, ManyLaunchesAreRememberedOnlyWhileTheyRun) {
  for (uint64_t i = 1; i <= 1000; ++i) {
    ASSERT_OK(watch_.Launch(*stream_, {.sequence = i, .kernels = {"k"}},
                            [] { return absl::OkStatus(); }));
    if (i % 100 != 0) continue;
    ASSERT_OK(stream_->Synchronize());
  }
  EXPECT_LT(watch_.watched(), 200u);
  ASSERT_OK(stream_->Synchronize());
  EXPECT_FALSE(watch_.Look(now_).has_value());
  EXPECT_EQ(watch_.watched(), 0u);
}

TEST_F(KernelWatchTest, AStreamMayBeDestroyedWhileItsLaunchRuns) {
  ASSERT_OK_AND_ASSIGN(auto passing, Stream::Create(context_, {}));
  ASSERT_OK(Launch(*passing, 3, 0));
  AwaitBegun();
  passing.reset();
  EXPECT_FALSE(watch_.Look(now_).has_value());
  const auto overrun = watch_.Look(now_ + hours(2));
  ASSERT_TRUE(overrun.has_value());
  EXPECT_EQ(overrun->launch.sequence, 3u);
}

TEST_F(KernelWatchTest, ALaunchThatFailsIsNotWatched) {
  EXPECT_THAT(watch_.Launch(*stream_, {.sequence = 1},
                            [] { return absl::InternalError("refused"); }),
              StatusIs(absl::StatusCode::kInternal, "refused"));
  EXPECT_EQ(watch_.watched(), 0u);
}

TEST_F(KernelWatchTest, TheWatchLooksByItself) {
  absl::Notification found;
  KernelWatch watch({.limit = absl::Milliseconds(10),
                     .exceeded = [&](const KernelWatch::Overrun& overrun) {
                       EXPECT_EQ(overrun.launch.sequence, 5u);
                       found.Notify();
                     }});
  ASSERT_OK(watch.Launch(*stream_, {.sequence = 5, .kernels = {"k"}},
                         [&] { return Pass(*stream_, 0); }));
  found.WaitForNotification();
}

TEST(TimeLimitFaultTest, TheLaunchIsNamedWithBothTimes) {
  internal::Fault fault = TimeLimitFault(
      {{.sequence = 42, .device = 1, .kernels = {"spin"}}, absl::Seconds(31)},
      absl::Seconds(30), "--kernel-time-limit");
  EXPECT_EQ(fault.kernel(), "spin");
  EXPECT_EQ(fault.device(), 1u);
  EXPECT_THAT(FromError(fault.error()),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "kernel spin, command 42, has run for 31s; the limit is "
                       "30s (--kernel-time-limit)"));
  EXPECT_EQ(GetErrorDetail(FromError(fault.error()))->result_name,
            "CUDA_ERROR_LAUNCH_TIMEOUT");
  fault = TimeLimitFault({{.sequence = 42,
                           .graph_exec = 0x0800000100000001,
                           .kernels = {"a", "b"}},
                          absl::Seconds(31)},
                         absl::Seconds(30), "--kernel-time-limit");
  EXPECT_EQ(fault.kernel(), "");
  EXPECT_THAT(FromError(fault.error()),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "graph_exec 0x0800000100000001 (a, b), command 42"));
}

}  // namespace
}  // namespace holdfast::executor
