// SPDX-License-Identifier: Apache-2.0
//
// The queue through rings, whose other end is the test's.
#include "client/cpp/submission/command_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"
#include "client/cpp/submission/quiet_thread.h"
#include "core/base/ring_pair.h"
#include "core/base/spin.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "tests/client/cpp/fake_daemon.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/thread_refusal.h"

namespace holdfast {
namespace {

using testing::StatusIs;

constexpr size_t kMaxMessage = size_t{4} << 20;

class RingQueueTest : public ::testing::Test {
 protected:
  // Commands up to `received_through` were another client's.
  void Connect(bool daemon_takes_rings = true, uint64_t received_through = 0) {
    const auto memory = RingPair::CreateMemory();
    ASSERT_OK(memory.status());
    auto mine =
        RingPair::Map(memory->get(), RingPair::End::kClient, kMaxMessage);
    auto executors =
        RingPair::Map(memory->get(), RingPair::End::kExecutor, kMaxMessage);
    ASSERT_OK(mine.status());
    ASSERT_OK(executors.status());
    (daemon_takes_rings ? daemon_.TakeRings(*std::move(executors))
                        : unused_.swap(*executors));
    CommandQueue::Options options;
    options.received_through = received_through;
    options.flush_delay = flush_delay_;
    options.take_output = [this](const v1::KernelOutput& output) {
      printed_ += output.text();
      if (output.text() == "late") printed_late_ = true;
    };
    options.take_times = [this](const v1::StepTimes& times) {
      ++reads_[std::this_thread::get_id()];
      for (const auto& step : times.steps()) {
        steps_[step.name()] = step.nanoseconds();
      }
    };
    ExecuteStream::Options stream;
    stream.session_token = "token";
    stream.ring_token = "00";
    stream.rings = *std::move(mine);
    auto queue = CommandQueue::Create(
        grpc::CreateChannel(daemon_.address(),
                            grpc::InsecureChannelCredentials()),
        std::move(stream), std::move(options));
    ASSERT_OK(queue.status());
    queue_ = *std::move(queue);
  }

  absl::Status Fence() {
    return queue_->Call([](v1::Command& command) { command.mutable_fence(); })
        .status();
  }

  FakeDaemon daemon_;
  absl::Duration flush_delay_ = CommandQueue::Options().flush_delay;
  std::unique_ptr<RingPair> unused_;
  std::string printed_;
  std::atomic<bool> printed_late_{false};
  std::map<std::string, uint64_t> steps_;
  std::map<std::thread::id, int> reads_;  // batches that each thread has read
  std::unique_ptr<CommandQueue> queue_;
};

TEST_F(RingQueueTest, ResultsComeInOrder) {
  Connect();
  for (int i = 0; i < 100; ++i) ASSERT_OK(Fence());
}

TEST_F(RingQueueTest, WhatKernelsPrintedComesBeforeTheResultBehindIt) {
  Connect();
  v1::ResultBatch batch;
  batch.add_results()->mutable_output()->set_text("one\ntw");
  ASSERT_OK(daemon_.Send(batch.SerializeAsString()));
  batch.mutable_results(0)->mutable_output()->set_text("o\n");
  ASSERT_OK(daemon_.Send(batch.SerializeAsString()));
  ASSERT_OK(Fence());
  EXPECT_EQ(printed_, "one\ntwo\n");
}

TEST_F(RingQueueTest, TimesOfStepsAreHandedOnBeforeTheResultBehindThem) {
  Connect();
  v1::ResultBatch batch;
  auto& step = *batch.add_results()->mutable_times()->add_steps();
  step.set_name("executor: batch read");
  step.set_nanoseconds(7);
  ASSERT_OK(daemon_.Send(batch.SerializeAsString()));
  ASSERT_OK(Fence());
  EXPECT_EQ(steps_["executor: batch read"], 7u);
  // And this process's own.
  EXPECT_GT(steps_["client: batch ready"], 7u);
  EXPECT_GE(steps_["client: result read"], steps_["client: batch ready"]);
}

TEST_F(RingQueueTest, ACallerThatLooksReadsItsResultsItself) {
  if (!MaySpin()) GTEST_SKIP() << "with few processors it sleeps";
  Connect();
  for (int i = 0; i < 1000; ++i) ASSERT_OK(Fence());
  // The reading thread was awake for some.
  EXPECT_GT(reads_[std::this_thread::get_id()], 500);
}

TEST_F(RingQueueTest, AResultThatNobodyLooksForIsReadAllTheSame) {
  Connect();
  ASSERT_OK(Fence());
  v1::ResultBatch batch;
  batch.add_results()->mutable_output()->set_text("late");
  ASSERT_OK(daemon_.Send(batch.SerializeAsString()));
  while (!printed_late_) std::this_thread::yield();
  ASSERT_OK(Fence());
}

TEST_F(RingQueueTest, AnExecutorThatTakesNoRingsIsServedByGrpc) {
  Connect(/*daemon_takes_rings=*/false);
  for (int i = 0; i < 10; ++i) ASSERT_OK(Fence());
  EXPECT_FALSE(unused_->reader().Ready());
}

// Would wait for ever for a batch that nobody sends.
TEST_F(RingQueueTest, AnEndThatIsToBeginNowIsSentWithAllBeforeIt) {
  flush_delay_ = absl::InfiniteDuration();
  Connect();
  const auto end = [](WireWriter& writer) {
    v1::Command command;
    command.mutable_destroy_graph_exec();
    writer.Fields(command);
  };
  queue_->SubmitDestruction(end, /*creation=*/1);
  queue_->SubmitDestruction(end, /*creation=*/2, /*send=*/true);
  daemon_.WaitForCommands(2);
}

TEST_F(RingQueueTest, ThreadsThatWaitGetEachTheirOwnResults) {
  Connect();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 50; ++i) EXPECT_OK(Fence());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RingQueueTest, BatchesLargerThanTheRingArrive) {
  Connect();
  const std::string large(size_t{1} << 20, 'x');
  ASSERT_OK(queue_->Submit([&](v1::Command& command) {
    command.mutable_write_buffer()->set_data(large);
  }));
  ASSERT_OK(Fence());
}

TEST_F(RingQueueTest, ACommandWithoutAResultFailsForItsOwnReasonAlone) {
  Connect();
  daemon_.Fail(1, 3, "grid of 0 blocks");
  daemon_.Fail(4, 9, "a stream is not idle");
  ASSERT_OK(queue_->Submit(
      [](v1::Command& command) { command.mutable_write_buffer(); }));
  const auto sleep = [this] {
    return queue_->CallWithoutResult(
        [](v1::Command& command) { command.mutable_sleep_collection(); });
  };
  EXPECT_OK(sleep());  // Commands 2, and 3, which is a fence.
  EXPECT_THAT(sleep(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                "a stream is not idle"));
  EXPECT_THAT(queue_->TakeFailure(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "command 1 failed: grid of 0 blocks"));
  EXPECT_OK(queue_->TakeFailure());
}

TEST_F(RingQueueTest, AQuietThreadLeavesFaultsAndFailuresToOthers) {
  Connect();
  daemon_.Fail(1, 3, "grid of 0 blocks");
  const auto write = [this] {
    return queue_
        ->Submit([](v1::Command& command) { command.mutable_write_buffer(); })
        .status();
  };
  const auto aborted = StatusIs(absl::StatusCode::kAborted, "a fault");
  ASSERT_OK(write());
  ASSERT_OK(Fence());
  std::thread([&] {
    SetQuietThread(true);
    EXPECT_OK(queue_->TakeFailure());
    queue_->SetFault(absl::AbortedError("a fault"));
    EXPECT_THAT(queue_->TakeFailure(), aborted);
    EXPECT_THAT(write(), aborted);
  }).join();
  EXPECT_THAT(write(), aborted);
  EXPECT_OK(write());
  EXPECT_THAT(queue_->TakeFailure(),
              StatusIs(absl::StatusCode::kInvalidArgument, "grid of 0 blocks"));
}

TEST_F(RingQueueTest, AFailureOfAnEarlierClientIsKeptWhicheverFenceTellsIt) {
  Connect(/*daemon_takes_rings=*/true, /*received_through=*/5);
  ASSERT_OK(Fence());
  v1::ResultBatch batch;
  v1::Result& result = *batch.add_results();
  result.set_sequence(6);
  result.mutable_fence()->set_failures(2);
  result.mutable_fence()->set_first_failed_sequence(3);
  v1::Error& error = *result.mutable_fence()->mutable_first_error();
  error.set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
  error.set_message("grid of 0 blocks");
  ASSERT_OK(daemon_.Send(batch.SerializeAsString()));
  ASSERT_OK(Fence());
  EXPECT_THAT(queue_->TakeFailure(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "command 3 failed: grid of 0 blocks"));
  // This client's own come by themselves.
  result.mutable_fence()->set_first_failed_sequence(6);
  ASSERT_OK(daemon_.Send(batch.SerializeAsString()));
  ASSERT_OK(Fence());
  EXPECT_OK(queue_->TakeFailure());
}

// As when the daemon is replaced while the user decides about a fault.
TEST(SuspendedQueueTest, ConsentIsOverWhenASuspendedSessionGoesOn) {
  FakeDaemon first;
  FakeDaemon second;
  const auto connect = [](const FakeDaemon& daemon) {
    return grpc::CreateChannel(daemon.address(),
                               grpc::InsecureChannelCredentials());
  };
  CommandQueue::Options options;
  options.ask = [](const absl::Status&) {
    return absl::AbortedError("a fault to decide about");
  };
  options.recover =
      [&](const absl::Status&,
          absl::FunctionRef<bool()>) -> absl::StatusOr<CommandQueue::Recovery> {
    CommandQueue::Recovery recovery;
    recovery.submitted_through = UINT64_MAX;
    recovery.suspended = true;
    ExecuteStream::Options stream;
    stream.session_token = "token";
    auto opened = ExecuteStream::Open(connect(second), std::move(stream));
    if (!opened.ok()) return opened.status();
    recovery.stream = *std::move(opened);
    return recovery;
  };
  ExecuteStream::Options stream;
  stream.session_token = "token";
  ASSERT_OK_AND_ASSIGN(const auto queue,
                       CommandQueue::Create(connect(first), std::move(stream),
                                            std::move(options)));
  const auto fence = [&queue] {
    return queue->Call([](v1::Command& command) { command.mutable_fence(); })
        .status();
  };
  ASSERT_OK(fence());
  first.LoseExecutor("killed");
  absl::Status status;
  while (status.ok()) status = fence();
  ASSERT_THAT(status, StatusIs(absl::StatusCode::kAborted, "to decide about"));
  ASSERT_OK(queue->Consent());
  EXPECT_OK(fence());
}

// As of one that has died since the session was opened.
TEST(RingsOfferedToNobodyTest, AreAnErrorAndNoCrash) {
  const auto memory = RingPair::CreateMemory();
  ASSERT_OK(memory.status());
  auto mine = RingPair::Map(memory->get(), RingPair::End::kClient, kMaxMessage);
  ASSERT_OK(mine.status());
  ExecuteStream::Options stream;
  stream.session_token = "token";
  stream.ring_token = "00";
  stream.rings = *std::move(mine);
  ASSERT_OK_AND_ASSIGN(
      const auto queue,
      CommandQueue::Create(
          grpc::CreateChannel("unix:/nobody/is/here",
                              grpc::InsecureChannelCredentials()),
          std::move(stream), CommandQueue::Options()));
  EXPECT_THAT(queue->Call([](v1::Command& command) { command.mutable_fence(); })
                  .status(),
              StatusIs(absl::StatusCode::kUnavailable, ""));
}

// Else a client could not tell what of it has arrived.
TEST(RingsOfferedToNobodyTest, LoseNoBatch) {
  const auto memory = RingPair::CreateMemory();
  ASSERT_OK(memory.status());
  auto mine = RingPair::Map(memory->get(), RingPair::End::kClient, kMaxMessage);
  ASSERT_OK(mine.status());
  ExecuteStream::Options options;
  options.session_token = "token";
  options.ring_token = "00";
  options.rings = *std::move(mine);
  ASSERT_OK_AND_ASSIGN(
      const auto stream,
      ExecuteStream::Open(
          grpc::CreateChannel("unix:/nobody/is/here",
                              grpc::InsecureChannelCredentials()),
          std::move(options)));
  ASSERT_TRUE(stream->has_rings());
  const bool written = stream->Write("a batch");
  v1::ResultBatch results;
  while (stream->Read(&results) != ExecuteStream::ReadResult::kEnd) {
    stream->Sleep();
  }
  EXPECT_THAT(stream->Finish(), StatusIs(absl::StatusCode::kUnavailable, ""));
  EXPECT_EQ(stream->Unread().size(), written ? 1u : 0u);
}

// With the poller and gRPC's threads there already.
TEST_F(RingQueueTest, AQueueWithoutThreadsIsAnErrorAndLeavesNothing) {
  if (!testing::ThreadRefusal::kWorks) GTEST_SKIP();
  Connect();
  ASSERT_OK(Fence());
  const auto channel = grpc::CreateChannel(daemon_.address(),
                                           grpc::InsecureChannelCredentials());
  ASSERT_TRUE(channel->WaitForConnected(
      absl::ToChronoTime(absl::Now() + absl::Seconds(60))));
  ExecuteStream::Options stream;
  stream.session_token = "token";
  const testing::ThreadRefusal refusal;
  EXPECT_THAT(
      CommandQueue::Create(channel, std::move(stream), CommandQueue::Options()),
      StatusIs(absl::StatusCode::kResourceExhausted, "no thread for commands"));
}

TEST_F(RingQueueTest, AnExecutorThatDiesIsNoticed) {
  Connect();
  ASSERT_OK(Fence());
  daemon_.LoseExecutor("killed");
  absl::Status status;
  while (status.ok()) status = Fence();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, ""));
}

TEST_F(RingQueueTest, AWriterWhoseExecutorDiesWithAFullRingIsLetGo) {
  Connect();
  daemon_.Hold();  // So that it reads no more.
  std::thread killer([this] {
    absl::SleepFor(absl::Milliseconds(100));
    daemon_.LoseExecutor("killed");
    daemon_.Release();
  });
  const std::string large(100 << 10, 'x');
  absl::Status status;
  for (int i = 0; i < 10000 && status.ok(); ++i) {
    status = queue_
                 ->Submit([&](v1::Command& command) {
                   command.mutable_write_buffer()->set_data(large);
                 })
                 .status();
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, ""));
  killer.join();
}

TEST_F(RingQueueTest, WhatIsNoResultLosesTheSession) {
  Connect();
  ASSERT_OK(Fence());
  ASSERT_OK(daemon_.Send("\xff\xff"));
  absl::Status status;
  while (status.ok()) status = Fence();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, "no results"));
}

// Number 0 is of no command.
TEST_F(RingQueueTest, WhatTheExecutorComplainsOfLosesTheSession) {
  Connect();
  ASSERT_OK(Fence());
  v1::ResultBatch complaint;
  v1::Error& error = *complaint.add_results()->mutable_error();
  error.set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
  error.set_message("numbers must increase");
  ASSERT_OK(daemon_.Send(complaint.SerializeAsString()));
  absl::Status status;
  while (status.ok()) status = Fence();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               "numbers must increase"));
}

TEST_F(RingQueueTest, ClosingEndsTheOnesWhoWait) {
  Connect();
  daemon_.Hold();
  std::thread waits([this] {
    EXPECT_THAT(Fence(), StatusIs(absl::StatusCode::kCancelled, ""));
  });
  absl::SleepFor(absl::Milliseconds(30));
  queue_->Close();
  waits.join();
  daemon_.Release();
}

}  // namespace
}  // namespace holdfast
