// SPDX-License-Identifier: Apache-2.0
//
// Commands that succeed: what they do, which of them answer, and when.
#include <cstring>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/server/executor/executor_fixture.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

class CommandTest : public ExecutorTest {};

TEST_F(CommandTest, TheProcessTellsItsDriverAndDevices) {
  EXPECT_EQ(ready().driver().kind(), v1::Driver::KIND_SOFTWARE);
  ASSERT_GE(ready().devices_size(), 1);
  EXPECT_EQ(ready().devices(0).attributes().at("warp_size"), 32);
  EXPECT_EQ(ready().devices(0).uuid().size(), 16u);
}

TEST_F(CommandTest, AWholeProgramInOneBatch) {
  Batch batch;
  batch.CreateStream(StreamName(0));
  batch.Allocate(BufferName(0), 1000);
  batch.Allocate(BufferName(1), 1000);
  batch.FillWord(StreamName(0), BufferName(0), 0, 1000, 0x01020304);
  batch.Write(StreamName(0), BufferName(0), 500, "hello");
  batch.Copy(StreamName(0), BufferName(1), 0, BufferName(0), 498, 9);
  const uint64_t read = batch.Read(StreamName(0), BufferName(1), 0, 9);
  const uint64_t fence = batch.Fence();
  const auto results = Run(batch);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results.at(read).data(), "\x02\x01hello\x03\x02");
  EXPECT_EQ(results.at(fence).fence().failures(), 0u);
}

TEST_F(CommandTest, ResourcesLiveAcrossBatches) {
  Batch first;
  first.CreateStream(StreamName(0));
  first.AllocateHost(BufferName(0), 64);
  first.Write(StreamName(0), BufferName(0), 0, "kept");
  EXPECT_TRUE(Run(first).empty());
  Batch second(1000);  // Gaps are allowed.
  const uint64_t read = second.Read(StreamName(0), BufferName(0), 0, 4);
  EXPECT_EQ(Run(second).at(read).data(), "kept");
}

TEST_F(CommandTest, WaitsAnswerWhenTheStreamIsThere) {
  Batch batch;
  batch.CreateStream(StreamName(0));
  const uint64_t sync = batch.Synchronize(StreamName(0));
  batch.Add().mutable_query_stream()->set_stream(StreamName(0));
  const uint64_t query = batch.last_sequence();
  const auto results = Run(batch);
  EXPECT_TRUE(results.at(sync).has_done());
  EXPECT_TRUE(results.at(query).has_readiness());
}

// Memory that a kernel may be using is not unmapped.
TEST_F(CommandTest, ACollectionDoesNotSleepUnderTheWorkOfADestroyedStream) {
  const uint64_t semaphore = Name(HandleKind::kSemaphore, 0);
  Batch held;
  held.Add().mutable_create_semaphore()->set_semaphore(semaphore);
  held.CreateStream(StreamName(0));
  v1::WaitSemaphore& wait = *held.Add().mutable_wait_semaphore();
  wait.set_semaphore(semaphore);
  wait.set_stream(StreamName(0));
  wait.set_value(1);
  held.Add().mutable_destroy_stream()->set_stream(StreamName(0));
  held.Add().mutable_sleep_collection();
  const uint64_t refused = held.last_sequence();
  const uint64_t fence = held.Fence(/*all_streams=*/false);
  const v1::FenceResult failures = Run(held).at(fence).fence();
  EXPECT_EQ(failures.first_failed_sequence(), refused);
  EXPECT_NE(failures.first_error().message().find("has work left"),
            std::string::npos)
      << failures.first_error().message();

  Batch signalled(held.last_sequence() + 1);
  v1::SignalSemaphore& signal = *signalled.Add().mutable_signal_semaphore();
  signal.set_semaphore(semaphore);
  signal.set_value(1);
  EXPECT_TRUE(Run(signalled).empty());
  uint64_t next = signalled.last_sequence();
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  for (bool sleeps = false; !sleeps;) {
    ASSERT_LT(absl::Now(), deadline) << "the work goes on";
    Batch again(next + 1);
    again.Add().mutable_sleep_collection();
    next = again.Fence(/*all_streams=*/false);
    sleeps = Run(again).at(next).fence().failures() == 0;
  }
}

TEST_F(CommandTest, EventsMarkAndMeasure) {
  Batch batch;
  batch.CreateStream(StreamName(0));
  batch.CreateStream(StreamName(1));
  for (uint32_t i = 0; i < 2; ++i) {
    auto& create = *batch.Add().mutable_create_event();
    create.set_event(EventName(i));
    create.set_timing(true);
  }
  for (uint32_t i = 0; i < 2; ++i) {
    auto& record = *batch.Add().mutable_record_event();
    record.set_event(EventName(i));
    record.set_stream(StreamName(0));
  }
  auto& wait = *batch.Add().mutable_wait_event();
  wait.set_stream(StreamName(1));
  wait.set_event(EventName(1));
  batch.Add().mutable_synchronize_event()->set_event(EventName(1));
  const uint64_t sync = batch.last_sequence();
  EXPECT_TRUE(Run(batch).at(sync).has_done());

  Batch after(100);
  auto& elapsed = *after.Add().mutable_elapsed_time();
  elapsed.set_start(EventName(0));
  elapsed.set_end(EventName(1));
  after.Add().mutable_query_event()->set_event(EventName(1));
  const auto results = Run(after);
  EXPECT_GE(results.at(100).elapsed_ms(), 0.0f);
  EXPECT_EQ(results.at(100).outcome_case(), v1::Result::kElapsedMs);
  EXPECT_TRUE(results.at(101).readiness().finished());
}

TEST_F(CommandTest, ElapsedTimeWaitsForBothEventsIfItIsToldTo) {
  Batch batch;
  batch.CreateStream(StreamName(0));
  batch.Allocate(BufferName(0), 8 << 20);
  for (uint32_t i = 0; i < 3; ++i) {
    auto& create = *batch.Add().mutable_create_event();
    create.set_event(EventName(i));
    create.set_timing(true);
  }
  const auto record = [&](uint32_t event) {
    auto& command = *batch.Add().mutable_record_event();
    command.set_event(EventName(event));
    command.set_stream(StreamName(0));
  };
  const auto elapsed = [&](uint32_t end) {
    auto& command = *batch.Add().mutable_elapsed_time();
    command.set_start(EventName(0));
    command.set_end(EventName(end));
    command.set_wait(true);
    return batch.last_sequence();
  };
  record(0);
  for (int i = 0; i < 20; ++i) {  // Still under way when time is asked for.
    auto& fill = *batch.Add().mutable_fill_buffer();
    fill.set_stream(StreamName(0));
    fill.set_buffer(BufferName(0));
    fill.set_size(8 << 20);
    fill.set_byte(i);
  }
  record(1);
  const uint64_t time = elapsed(1);
  const uint64_t none = elapsed(2);
  const auto results = Run(batch);
  EXPECT_GT(results.at(time).elapsed_ms(), 0.0f);
  EXPECT_EQ(results.at(none).error().code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(CommandTest, FillsHaveThreeWidths) {
  Batch batch;
  batch.CreateStream(StreamName(0));
  batch.Allocate(BufferName(0), 16);
  const auto fill = [&](uint64_t offset, uint64_t size) -> v1::FillBuffer& {
    auto& command = *batch.Add().mutable_fill_buffer();
    command.set_stream(StreamName(0));
    command.set_buffer(BufferName(0));
    command.set_offset(offset);
    command.set_size(size);
    return command;
  };
  fill(0, 16).set_byte('a');
  fill(4, 4).set_half_word('b' | 'c' << 8);
  fill(8, 4).set_word('1' | '2' << 8 | '3' << 16 | '4' << 24);
  const uint64_t read = batch.Read(StreamName(0), BufferName(0), 0, 16);
  EXPECT_EQ(Run(batch).at(read).data(), "aaaabcbc1234aaaa");
}

TEST_F(CommandTest, SubBuffersShareBytesAndEndWithTheirParent) {
  Batch batch;
  batch.CreateStream(StreamName(0));
  batch.Allocate(BufferName(0), 100);
  auto& sub = *batch.Add().mutable_create_sub_buffer();
  sub.set_buffer(BufferName(1));
  sub.set_parent(BufferName(0));
  sub.set_offset(40);
  sub.set_size(10);
  batch.Write(StreamName(0), BufferName(1), 2, "sub");
  const uint64_t read = batch.Read(StreamName(0), BufferName(0), 42, 3);
  const uint64_t beyond = batch.Read(StreamName(0), BufferName(1), 8, 3);
  batch.Add().mutable_describe_buffer()->set_buffer(BufferName(1));
  const uint64_t describe = batch.last_sequence();
  batch.Free(BufferName(0), StreamName(0));
  const uint64_t gone = batch.Read(StreamName(0), BufferName(1), 0, 1);
  const auto results = Run(batch);
  EXPECT_EQ(results.at(read).data(), "sub");
  EXPECT_EQ(results.at(beyond).error().code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(results.at(describe).buffer().size(), 10u);
  EXPECT_EQ(results.at(gone).error().code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(CommandTest, AnIndexIsUsableAgainWithAGreaterGeneration) {
  Batch batch;
  batch.CreateStream(StreamName(0));
  for (uint32_t generation = 1; generation <= 50; ++generation) {
    batch.Allocate(BufferName(7, generation), 1 << 20);
    batch.FillWord(StreamName(0), BufferName(7, generation), 0, 1 << 20,
                   generation);
    if (generation < 50) batch.Free(BufferName(7, generation), StreamName(0));
  }
  const uint64_t read = batch.Read(StreamName(0), BufferName(7, 50), 0, 1);
  const uint64_t fence = batch.Fence();
  const auto results = Run(batch);
  EXPECT_EQ(results.at(read).data(), std::string(1, 50));
  EXPECT_EQ(results.at(fence).fence().failures(), 0u);
}

TEST_F(CommandTest, DestroyingTwiceIsNoError) {
  Batch batch;
  batch.CreateStream(StreamName(0));
  batch.Allocate(BufferName(0), 8);
  for (int i = 0; i < 2; ++i) batch.Free(BufferName(0), StreamName(0));
  batch.Free(0);
  for (int i = 0; i < 2; ++i) {
    batch.Add().mutable_destroy_stream()->set_stream(StreamName(0));
  }
  const uint64_t fence = batch.Fence();
  const auto results = Run(batch);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results.at(fence).fence().failures(), 0u);
}

TEST_F(CommandTest, ExecuteAnswersTheSameAsRun) {
  auto context = Context();
  auto stream = commands().Execute(context.get());
  Batch first;
  first.CreateStream(StreamName(0));
  first.Allocate(BufferName(0), 4096);
  ASSERT_TRUE(stream->Write(first.proto()));
  uint64_t next = first.last_sequence() + 1;
  constexpr int kBatches = 200;
  for (int i = 0; i < kBatches; ++i) {
    Batch batch(next);
    batch.FillWord(StreamName(0), BufferName(0), 0, 4096, i);
    batch.Read(StreamName(0), BufferName(0), 4092, 4);
    next = batch.last_sequence() + 1;
    ASSERT_TRUE(stream->Write(batch.proto()));
  }
  stream->WritesDone();
  std::map<uint64_t, std::string> data;
  for (v1::ResultBatch results; stream->Read(&results);) {
    for (const v1::Result& result : results.results()) {
      data[result.sequence()] = result.data();
    }
  }
  EXPECT_TRUE(stream->Finish().ok());
  ASSERT_EQ(data.size(), static_cast<size_t>(kBatches));
  uint32_t expected = 0;
  for (const auto& [sequence, bytes] : data) {
    uint32_t word = 0;
    ASSERT_EQ(bytes.size(), 4u);
    std::memcpy(&word, bytes.data(), 4);
    EXPECT_EQ(word, expected++) << sequence;
  }
}

TEST_F(CommandTest, TheSupervisorHoldsTheChunksOfLiveMemory) {
  Batch batch;
  batch.CreateStream(StreamName(0));
  batch.Allocate(BufferName(0), 40 << 20);
  batch.Allocate(BufferName(1), 40 << 20);
  batch.Fence();
  Run(batch);
  EXPECT_EQ(AwaitChunksHeld(2), 2u);
}

}  // namespace
}  // namespace holdfast::testing
