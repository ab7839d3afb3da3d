// SPDX-License-Identifier: Apache-2.0
//
// Clients that send more than they read: what they cost the daemon is bounded,
// and nothing is lost.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "server/relay/transfer_pipe.h"
#include "server/relay/transfer_pipes.h"
#include "tests/server/executor/executor_fixture.h"
#include "tests/testing/kernels.h"
#include "tests/testing/pipe_client.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Results that wait, and as much again on their way through gRPC; pinned memory
// for inline bytes. AddressSanitizer keeps 256 MiB of what was freed.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kMostBytes = (96 + 320) * kMiB;
#else
constexpr size_t kMostBytes = 96 * kMiB;
#endif

constexpr const char* kPtx = test_ptx::kModule<test_ptx::kWaitFor>;

class BackPressureTest : public ExecutorTest {
 protected:
  // Streams 0 and 1, buffer 0 of 64 KiB. The next number is 4.
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ExecutorTest::SetUp());
    Batch batch;
    batch.CreateStream(StreamName(0));
    batch.CreateStream(StreamName(1));
    batch.Allocate(BufferName(0), 64 << 10);
    const auto results = Run(batch);
    ASSERT_TRUE(results.empty()) << results.begin()->second.DebugString();
  }

  // From number 4 on: makes buffer 1 and has stream 0 wait until its first word
  // is not 0.
  static Batch WaitingKernel() {
    Batch first(4);
    first.AllocateHost(BufferName(1), 1 << 20);
    first.FillWord(StreamName(1), BufferName(1), 0, 1 << 20, 0);
    first.Synchronize(StreamName(1));
    first.LoadInline(ModuleName(0), kPtx);
    first.GetKernel(KernelName(0), ModuleName(0), "wait_for");
    v1::Launch& launch = *first.Add().mutable_launch();
    launch.set_kernel(KernelName(0));
    launch.set_stream(StreamName(0));
    for (v1::Dim3* dim : {launch.mutable_grid(), launch.mutable_block()}) {
      dim->set_x(1);
      dim->set_y(1);
      dim->set_z(1);
    }
    launch.add_arguments()->mutable_buffer()->set_buffer(BufferName(1));
    launch.add_arguments()->mutable_buffer()->set_buffer(BufferName(0));
    return first;
  }

  using Lease = std::shared_ptr<TransferPipes::Lease>;
  absl::StatusOr<Lease> OpenPipe() {
    HOLDFAST_ASSIGN_OR_RETURN(
        Lease lease, PipesTo(connection(), descriptor_path(), token())->Take());
    HOLDFAST_RETURN_IF_ERROR(lease->Open({}, absl::Now()));
    return lease;
  }

  size_t ResidentBytes() const {
    std::ifstream file("/proc/" + std::to_string(pid()) + "/statm");
    size_t pages = 0;
    file >> pages >> pages;
    return pages * 4096;
  }

  // Reads results until `last`, each of which must have the next number of
  // those that a command has a result for, and no error.
  template <typename Stream>
  static void ExpectResults(Stream& stream, uint64_t first, uint64_t last) {
    uint64_t next = first;
    v1::ResultBatch batch;
    while (next <= last) {
      ASSERT_TRUE(stream.Read(&batch)) << "after " << next;
      for (const v1::Result& result : batch.results()) {
        ASSERT_FALSE(result.has_error()) << result.DebugString();
        ASSERT_EQ(result.sequence(), next++);
      }
    }
  }
};

TEST_F(BackPressureTest, AClientThatNeverReadsItsResultsCannotGrowTheDaemon) {
  // Results of 1 GiB in all, which nobody reads until all that can be sent is.
  constexpr uint64_t kBatches = 64;
  constexpr uint64_t kReads = 256;
  auto context = Context();
  auto stream = commands().Execute(context.get());
  Batch warm_up(4);
  warm_up.Read(StreamName(0), BufferName(0), 0, 64 << 10);
  ASSERT_TRUE(stream->Write(warm_up.proto()));
  ExpectResults(*stream, 4, 4);
  const size_t before = ResidentBytes();

  std::thread sender([&] {
    for (uint64_t i = 0; i < kBatches; ++i) {
      Batch batch(1000 + i * kReads);
      for (uint64_t j = 0; j < kReads; ++j) {
        batch.Read(StreamName(0), BufferName(0), 0, 64 << 10);
      }
      EXPECT_TRUE(stream->Write(batch.proto()));
    }
    stream->WritesDone();
  });
  // Whatever it would take without bounds, it takes while this goes on.
  size_t most = 0;
  for (int i = 0; i < 200; ++i) {
    most = std::max(most, ResidentBytes());
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_LT(most - before, kMostBytes);
  ExpectResults(*stream, 1000, 1000 + kBatches * kReads - 1);
  EXPECT_LT(ResidentBytes() - before, kMostBytes);
  sender.join();
  v1::ResultBatch batch;
  EXPECT_FALSE(stream->Read(&batch));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(BackPressureTest, ManySmallResultsAreBoundedAndNoneIsLost) {
  constexpr uint64_t kBatches = 100;
  constexpr uint64_t kCommands = 4096;
  auto context = Context();
  auto stream = commands().Execute(context.get());
  std::thread sender([&] {
    for (uint64_t i = 0; i < kBatches; ++i) {
      Batch batch(10 + i * kCommands);
      for (uint64_t j = 0; j < kCommands; ++j) {
        batch.Add().mutable_describe_buffer()->set_buffer(BufferName(0));
      }
      EXPECT_TRUE(stream->Write(batch.proto()));
    }
    stream->WritesDone();
  });
  ExpectResults(*stream, 10, 10 + kBatches * kCommands - 1);
  sender.join();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(BackPressureTest, InlineBytesBehindABusyStreamHoldUpNoTransfer) {
  // Stream 0 runs a kernel that ends when a transfer on stream 1 has written.
  // Behind it stand more writes than there is pinned memory for.
  auto context = Context();
  auto stream = commands().Execute(context.get());
  const Batch first = WaitingKernel();
  const uint64_t launched = first.last_sequence();
  ASSERT_TRUE(stream->Write(first.proto()));

  uint64_t next = launched + 1;
  for (int i = 0; i < 40; ++i) {
    Batch writes(next);
    for (int j = 0; j < 8; ++j) {
      writes.Write(StreamName(0), BufferName(0), 0, std::string(64 << 10, 'w'));
    }
    next = writes.last_sequence() + 1;
    ASSERT_TRUE(stream->Write(writes.proto()));
  }
  Batch last(next);
  const uint64_t read = last.Read(StreamName(0), BufferName(0), 0, 40);
  const uint64_t fence = last.Fence();
  ASSERT_TRUE(stream->Write(last.proto()));

  v1::TransferRange range;
  range.set_buffer(BufferName(1));
  range.set_size(1 << 20);
  range.set_stream(StreamName(1));
  range.set_after_sequence(launched);
  ASSERT_OK_AND_ASSIGN(const Lease lease, OpenPipe());
  ASSERT_OK(
      UploadBytes(lease->pipe(), range, std::string(1 << 20, '\1'), kMiB));

  std::map<uint64_t, v1::Result> results;
  v1::ResultBatch batch;
  while (results.count(fence) == 0 || results.count(read) == 0) {
    ASSERT_TRUE(stream->Read(&batch));
    for (const v1::Result& result : batch.results()) {
      EXPECT_FALSE(result.has_error()) << result.DebugString();
      results[result.sequence()] = result;
    }
  }
  EXPECT_EQ(results.at(read).data(), std::string(40, 'w'));
  EXPECT_EQ(results.at(fence).fence().failures(), 0u);
}

class StalledBackPressureTest : public BackPressureTest {
 protected:
  absl::Duration StallLimit() const override { return absl::Seconds(2); }
};

// A transfer's piece waits for the device, for longer than the daemon may take
// for one.
TEST_F(StalledBackPressureTest, WaitingForTheDeviceIsNoStall) {
  auto context = Context();
  auto stream = commands().Execute(context.get());
  const Batch first = WaitingKernel();
  ASSERT_TRUE(stream->Write(first.proto()));

  v1::TransferRange range;
  range.set_buffer(BufferName(0));
  range.set_size(8);
  range.set_stream(StreamName(0));
  range.set_after_sequence(first.last_sequence());
  ASSERT_OK_AND_ASSIGN(const Lease lease, OpenPipe());
  TransferPipe& pipe = lease->pipe();
  const auto send = [&pipe](const std::string& bytes) {
    const uint32_t slot = pipe.TakeSlot();
    std::memcpy(pipe.data(slot), bytes.data(), bytes.size());
    EXPECT_OK(pipe.Write(FilledSlot(slot, bytes.size())));
  };
  ASSERT_OK(WriteBegin(pipe, internal::BeginTransfer::DIRECTION_UPLOAD, range));
  send("behind");
  absl::SleepFor(absl::Seconds(4));

  Batch last(first.last_sequence() + 1);
  last.FillWord(StreamName(1), BufferName(1), 0, 1 << 20, 1);
  ASSERT_TRUE(stream->Write(last.proto()));
  send("it");
  TransferPipe::Message all_sent;
  all_sent.set_no_more_slots(true);
  ASSERT_OK(pipe.Write(all_sent));
  EXPECT_OK(AwaitEnd(pipe));
}

TEST_F(BackPressureTest, SmallInlineBytesAreNotCountedByTheirNumber) {
  // Stream 0 waits for a later command, behind thousands of small writes.
  auto context = Context();
  auto stream = commands().Execute(context.get());
  const Batch first = WaitingKernel();
  ASSERT_TRUE(stream->Write(first.proto()));
  Batch writes(first.last_sequence() + 1);
  for (int j = 0; j < 4000; ++j) {
    writes.Write(StreamName(0), BufferName(0), j % 1000, "small");
  }
  ASSERT_TRUE(stream->Write(writes.proto()));
  Batch last(writes.last_sequence() + 1);
  last.FillWord(StreamName(1), BufferName(1), 0, 1 << 20, 1);
  const uint64_t fence = last.Fence();
  ASSERT_TRUE(stream->Write(last.proto()));
  v1::ResultBatch batch;
  do {
    ASSERT_TRUE(stream->Read(&batch));
  } while (batch.results().rbegin()->sequence() != fence);
  EXPECT_EQ(batch.results().rbegin()->fence().failures(), 0u);
}

TEST_F(BackPressureTest, AParkedBatchDoesNotHoldUpTheEnd) {
  auto context = Context();
  auto stream = commands().Execute(context.get());
  Batch reads(4);
  for (int i = 0; i < 4000; ++i) {
    reads.Read(StreamName(0), BufferName(0), 0, 64 << 10);
  }
  ASSERT_TRUE(stream->Write(reads.proto()));
  // The fixture's TearDown ends the session and expects a clean exit.
}

}  // namespace
}  // namespace holdfast::testing
