// SPDX-License-Identifier: Apache-2.0
#include "server/executor/resources/stream_work.h"

#include <memory>
#include <utility>

#include "absl/synchronization/notification.h"
#include "core/base/handle.h"
#include "core/cuda/copy.h"
#include "core/cuda/stream_value.h"
#include "server/account/quota.h"
#include "server/executor/memory/staging.h"
#include "tests/testing/fault_injecting_driver.h"
#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::executor {
namespace {

using holdfast::testing::InjectFault;
using holdfast::testing::SoftwareContext;
using holdfast::testing::SoftwareDriver;

constexpr size_t kBlocks = 17;  // one more than are kept without a watch
constexpr auto kRecord = &cuda::DriverApi::cuEventRecord;

class StreamWorkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    InjectFault<kRecord>(&api_, 0, CUDA_SUCCESS);
    context_ = SoftwareContext(api_);
    staging_ = Staging::Create(context_, Quota::Create({}), 64, kBlocks);
    auto opener = cuda::Stream::Create(context_, {});
    ASSERT_OK(opener.status());
    opener_ = *std::move(opener);
    ASSERT_EQ(api_.cuCtxSetCurrent(context_->handle()), CUDA_SUCCESS);
    ASSERT_EQ(api_.cuMemAlloc(&gate_, sizeof(uint64_t)), CUDA_SUCCESS);
    ASSERT_OK(cuda::FillAsync(*opener_, gate_, 0, 1, sizeof(uint64_t)));
    ASSERT_OK(opener_->Synchronize());
  }
  void TearDown() override {
    Open();
    ASSERT_OK(context_->Synchronize());
  }

  uint64_t Handle(uint32_t index) {
    return holdfast::Handle{HandleKind::kStream, 1, index}.Pack();
  }
  StreamResource& MakeStream(uint32_t index) {
    auto stream = cuda::Stream::Create(context_, {});
    EXPECT_OK(stream.status());
    StreamResource resource;
    resource.stream = *std::move(stream);
    return streams_.Put(Handle(index), std::move(resource),
                        *streams_.Reserve());
  }
  // Work that is done when Open is called.
  void GiveWork(StreamResource& stream) {
    work_.NoteGiven(stream);
    ASSERT_OK(cuda::WaitValueAsync(*stream.stream, gate_, 1));
  }
  void Open() { ASSERT_OK(cuda::WriteValueAsync(*opener_, gate_, 1)); }

  StreamPoint At(uint32_t index, uint64_t sequence) {
    return (**streams_.Find(Handle(index))).progress.At(sequence);
  }

  // As the resources do it.
  absl::StatusOr<std::shared_ptr<const cuda::Event>> Destroy(uint32_t index) {
    StreamResource stream = **streams_.Take(Handle(index));
    return work_.NoteDestroyed(stream);
  }

  InlineStaging::Span TakeBlock() {
    auto block = staging_->TryAcquire();
    EXPECT_OK(block.status());
    return {(*block)->data(), (*block)->device_address(), *block};
  }

  cuda::DriverApi api_ = SoftwareDriver().api;
  std::shared_ptr<const cuda::Context> context_;
  std::shared_ptr<Staging> staging_;
  std::unique_ptr<cuda::Stream> opener_;
  CUdeviceptr gate_ = 0;
  HandleTable<StreamResource> streams_{HandleKind::kStream, Quota::Create({})};
  const std::shared_ptr<DeviceTimes> times_ = std::make_shared<DeviceTimes>();
  absl::Notification watch_later_;
  StreamWork work_{
      streams_, watcher_, {{}, times_, [this] { watch_later_.Notify(); }}};
  CompletionWatcher watcher_;
};

TEST_F(StreamWorkTest, ADestroyedStreamIsLeftUntilItsWorkIsDone) {
  GiveWork(MakeStream(1));
  ASSERT_OK_AND_ASSIGN(const auto end, Destroy(1));
  DestroyedStreams& destroyed = work_.destroyed();
  EXPECT_TRUE(destroyed.any_left());
  ASSERT_OK_AND_ASSIGN(const bool done_before, destroyed.AreDone());
  EXPECT_FALSE(done_before);
  Open();
  ASSERT_OK(end->Synchronize());
  ASSERT_OK_AND_ASSIGN(const bool done, destroyed.AreDone());
  EXPECT_TRUE(done);
}

TEST_F(StreamWorkTest, AStreamThatWasIdleIsDone) {
  MakeStream(1);
  ASSERT_OK(Destroy(1).status());
  ASSERT_OK_AND_ASSIGN(const bool done, work_.destroyed().AreDone());
  EXPECT_TRUE(done);
}

TEST_F(StreamWorkTest, ADestroyedStreamsMarkIsTakenOnce) {
  GiveWork(MakeStream(1));
  ASSERT_OK(Destroy(1).status());
  EXPECT_TRUE(work_.destroyed().TakeMarks(1).empty());
  EXPECT_EQ(work_.destroyed().TakeMarks(0).size(), 1u);
  EXPECT_TRUE(work_.destroyed().TakeMarks(0).empty());
}

TEST_F(StreamWorkTest, WorkThatIsGivenDuringAWatchIsWatchedLater) {
  StreamResource& stream = MakeStream(1);
  GiveWork(stream);
  EXPECT_TRUE(stream.unmarked);
  work_.Watch();
  EXPECT_FALSE(stream.unmarked);
  EXPECT_FALSE(watch_later_.HasBeenNotified());
  GiveWork(stream);
  Open();
  watch_later_.WaitForNotification();
  EXPECT_TRUE(times_->busy(0));
}

TEST_F(StreamWorkTest, AWaitTellsOfTheCommandsBeforeOtherStreamsWork) {
  MakeStream(1);
  MakeStream(2);
  work_.SetCommand(3);
  GiveWork(**streams_.Find(Handle(1)));
  work_.SetCommand(5);
  GiveWork(**streams_.Find(Handle(2)));
  work_.SetCommand(7);
  // The streams' own work does not matter, nor that of a stream without work.
  MakeStream(3);
  EXPECT_EQ(work_.DoneThrough({{At(1, 7), At(2, 7)}}), 7u);
  EXPECT_EQ(work_.DoneThrough({{At(1, 7)}}), 4u);
  EXPECT_EQ(work_.DoneThrough({{At(2, 7)}}), 2u);
  EXPECT_EQ(work_.DoneThrough({{At(3, 7)}}), 2u);
  EXPECT_EQ(work_.DoneThrough({}), 2u);
}

TEST_F(StreamWorkTest, APointThatWasReachedIsNotForgotten) {
  MakeStream(1);
  MakeStream(2);
  work_.SetCommand(3);
  GiveWork(**streams_.Find(Handle(1)));
  work_.SetCommand(5);
  const StreamPoint event = At(1, 4);
  EXPECT_EQ(work_.DoneThrough({{event}}), 4u);
  event.Reach();
  EXPECT_EQ(work_.DoneThrough({{At(2, 5)}}), 4u);
  At(1, 3).Reach();
  EXPECT_EQ(work_.DoneThrough({{At(2, 5)}}), 4u);
}

TEST_F(StreamWorkTest, AStreamThatTheDeviceHasDoneWithHoldsNothingBack) {
  StreamResource& stream = MakeStream(1);
  work_.SetCommand(3);
  GiveWork(stream);
  work_.SetCommand(6);
  EXPECT_EQ(work_.DoneThrough({}), 2u);
  Open();
  ASSERT_OK(stream.stream->Synchronize());
  EXPECT_EQ(work_.DoneThrough({}), 6u);
  EXPECT_FALSE(stream.unmarked);
}

TEST_F(StreamWorkTest, BytesAreKeptUntilTheWorkIsDone) {
  StreamResource& stream = MakeStream(1);
  GiveWork(stream);
  std::weak_ptr<const Staging::Block> first;
  {
    InlineStaging::Span span = TakeBlock();
    first = span.block;
    work_.KeepUntilDone(stream, std::move(span));
  }
  for (size_t i = 2; i < kBlocks; ++i) {
    work_.KeepUntilDone(stream, TakeBlock());
  }
  EXPECT_EQ(stream.kept.size(), kBlocks - 1);
  work_.KeepUntilDone(stream, TakeBlock());
  EXPECT_TRUE(stream.kept.empty());
  EXPECT_FALSE(first.expired());
  absl::Notification free;
  EXPECT_FALSE(staging_->HasFree([&] { free.Notify(); }));
  Open();
  free.WaitForNotification();
}

TEST_F(StreamWorkTest, BytesStayWhereTheEndOfTheWorkCannotBeTold) {
  StreamResource& stream = MakeStream(1);
  InlineStaging::Span span = TakeBlock();
  const std::weak_ptr<const Staging::Block> kept = span.block;
  work_.KeepUntilDone(stream, std::move(span));
  InjectFault<kRecord>(&api_, 1, CUDA_ERROR_ILLEGAL_ADDRESS);
  work_.WatchKept();
  EXPECT_TRUE(stream.kept.empty());
  EXPECT_FALSE(kept.expired());
}

}  // namespace
}  // namespace holdfast::executor
