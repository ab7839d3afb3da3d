// SPDX-License-Identifier: Apache-2.0
//
// Transfers through pipes: the test is the daemon, a good one or a hostile one.
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/descriptor_socket.h"
#include "proto/metadata.h"
#include "server/relay/ring_call.h"
#include "server/relay/transfer_pipe.h"
#include "server/relay/transfer_pipes.h"
#include "server/rpc/status_conversion.h"
#include "tests/server/executor/executor_fixture.h"
#include "tests/testing/pipe_client.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

using internal::BeginTransfer;
using Lease = std::shared_ptr<TransferPipes::Lease>;
using Message = TransferPipe::Message;

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kSize = 10 * kMiB + 70'000;

std::string Pattern(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>((i * 2654435761u) >> 13);
  }
  return bytes;
}

class PipeTransfersTest : public ExecutorTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ExecutorTest::SetUp());
    Batch batch;
    batch.CreateStream(StreamName(0));
    batch.Allocate(BufferName(0), kSize);
    ASSERT_TRUE(Run(batch).empty());
    range_.set_buffer(BufferName(0));
    range_.set_size(kSize);
    range_.set_stream(StreamName(0));
    pipes_ = std::make_shared<TransferPipes>(TransferPipes::Executor{
        .channel = connection(),
        .send_fd =
            [this](int fd) {
              ++made_;
              return SendFd(descriptor_path(), token(), fd);
            },
        .session_token = absl::BytesToHexString(token())});
  }
  void TearDown() override {
    pipes_ = nullptr;
    ExecutorTest::TearDown();
  }

  // Opens a pipe; the test fails if none is free.
  Lease Open() {
    absl::StatusOr<Lease> lease = pipes_->Take();
    EXPECT_OK(lease);
    EXPECT_OK((*lease)->Open({}, absl::Now()));
    return *std::move(lease);
  }

  void Begin(TransferPipe& pipe, BeginTransfer::Direction direction,
             const std::string& upload_try = "") {
    EXPECT_OK(WriteBegin(pipe, direction, range_, upload_try));
  }
  void BeginDownload(TransferPipe& pipe) {
    Begin(pipe, BeginTransfer::DIRECTION_DOWNLOAD);
  }

  absl::Status Upload(const std::string& bytes, size_t piece) {
    const Lease lease = Open();
    const absl::Status status =
        UploadBytes(lease->pipe(), range_, bytes, piece);
    if (status.ok()) lease->NoteDone();
    return status;
  }

  absl::StatusOr<std::string> Download() {
    const Lease lease = Open();
    auto bytes = DownloadBytes(lease->pipe(), range_);
    if (bytes.ok()) lease->NoteDone();
    return bytes;
  }

  // How a pipe ends that is told this, in the middle of an upload or a download
  // or before any.
  absl::Status Tell(std::optional<BeginTransfer::Direction> within,
                    const Message& message) {
    const Lease lease = Open();
    TransferPipe& pipe = lease->pipe();
    if (within.has_value()) Begin(pipe, *within);
    EXPECT_OK(pipe.Write(message));
    return AwaitEnd(pipe);
  }

  v1::TransferRange range_;
  std::shared_ptr<TransferPipes> pipes_;
  int made_ = 0;
};

TEST_F(PipeTransfersTest, BytesPassBothWaysThroughOnePipe) {
  const std::string bytes = Pattern(kSize);
  for (const size_t piece : {kMiB, size_t{70'000}}) {
    ASSERT_OK(Upload(bytes, piece));
    ASSERT_OK_AND_ASSIGN(const std::string back, Download());
    EXPECT_EQ(back == bytes, true);
  }
  EXPECT_EQ(made_, 1);
}

TEST_F(PipeTransfersTest, NoBytesAreATransfer) {
  range_.set_size(0);
  EXPECT_OK(Upload("", kMiB));
  ASSERT_OK_AND_ASSIGN(const std::string back, Download());
  EXPECT_EQ(back, "");
}

TEST_F(PipeTransfersTest, ATransferThatFailsSaysWhyAndTheNextHasAnotherPipe) {
  ASSERT_OK(Upload(Pattern(kSize), kMiB));
  EXPECT_THAT(Upload(Pattern(kSize - 1), kMiB),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "10555759 bytes came, 10555760 were announced"));
  EXPECT_THAT(Upload(Pattern(kSize + 1), kMiB),
              StatusIs(absl::StatusCode::kInvalidArgument, "that are left"));
  range_.set_buffer(BufferName(7));
  EXPECT_THAT(Download().status(),
              StatusIs(absl::StatusCode::kNotFound, "buffer"));
  range_.set_buffer(BufferName(0));
  ASSERT_OK_AND_ASSIGN(const std::string back, Download());
  EXPECT_EQ(back.size(), kSize);
  EXPECT_EQ(made_, 4);
}

TEST_F(PipeTransfersTest, WhatTheDaemonMayNotSayEndsThePipe) {
  const auto kUp = BeginTransfer::DIRECTION_UPLOAD;
  const auto kDown = BeginTransfer::DIRECTION_DOWNLOAD;
  Message begin, end, last;
  begin.mutable_begin();
  end.mutable_end();
  last.set_no_more_slots(true);
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, "not due");
  EXPECT_THAT(Tell(std::nullopt, Message()), refused);
  EXPECT_THAT(Tell(std::nullopt, FilledSlot(0, 5)), refused);
  EXPECT_THAT(Tell(std::nullopt, end), refused);
  EXPECT_THAT(Tell(kUp, begin), refused);
  EXPECT_THAT(Tell(kDown, last), refused);
  EXPECT_THAT(Tell(kUp, FilledSlot(TransferPipe::kSlots, 5)),
              StatusIs(absl::StatusCode::kInvalidArgument, "slot 4"));
  // Between two transfers nobody waits for a word.
  EXPECT_THAT(Tell(std::nullopt, ReturnedSlot(0)),
              StatusIs(absl::StatusCode::kCancelled, "has ended"));
  ASSERT_OK(Upload(Pattern(kSize), kMiB));
}

TEST_F(PipeTransfersTest, AHostileClientMakesNoPipeOfOtherMemory) {
  const auto call = std::make_shared<RingCall>(connection());
  call->context().AddMetadata(kSessionTokenKey.name,
                              absl::BytesToHexString(token()));
  call->Start(TransferPipe::kMethod, std::string(32, '0'), nullptr);
  EXPECT_FALSE(call->AwaitTaken());
  EXPECT_EQ(call->AwaitEnd().error_code(), grpc::StatusCode::NOT_FOUND);
}

// There is room for the downloads that come after.
TEST_F(PipeTransfersTest, TransfersThatAreGivenUpKeepNothing) {
  for (size_t i = 0; i < 2 * TransferPipe::kMaxPipes; ++i) {
    const Lease lease = Open();
    BeginDownload(lease->pipe());
    ASSERT_OK(Hear(lease->pipe()).status());
  }
  for (int i = 0; i < 8; ++i) {
    const Lease lease = Open();
    Begin(lease->pipe(), BeginTransfer::DIRECTION_UPLOAD);
    ASSERT_OK(lease->pipe().Write(FilledSlot(lease->pipe().TakeSlot(), kMiB)));
  }
  ASSERT_OK_AND_ASSIGN(const std::string back, Download());
  EXPECT_EQ(back.size(), kSize);
}

// The daemon sends a client's bytes from the slot.
TEST_F(PipeTransfersTest, ASlotIsNotUsedAgainBeforeItIsReturned) {
  const std::string bytes = Pattern(kSize);
  ASSERT_OK(Upload(bytes, kMiB));
  const Lease lease = Open();
  TransferPipe& pipe = lease->pipe();
  BeginDownload(pipe);
  std::vector<uint32_t> slots;
  while (slots.size() < TransferPipe::kSlots) {
    ASSERT_OK_AND_ASSIGN(const Message message, Hear(pipe));
    slots.push_back(message.slot().index());
  }
  ASSERT_OK(Upload(std::string(kSize, 'o'), kMiB));
  for (size_t i = 0; i < slots.size(); ++i) {
    EXPECT_EQ(
        std::string(pipe.data(slots[i]), kMiB) == bytes.substr(i * kMiB, kMiB),
        true);
  }
  EXPECT_FALSE(pipe.Readable());
}

// A device error in the middle must reach the client, behind what was sent.
TEST_F(PipeTransfersTest, WhatWasSentBeforeADownloadFailsIsThere) {
  const std::string bytes = Pattern(kSize);
  ASSERT_OK(Upload(bytes, kMiB));
  const Lease lease = Open();
  TransferPipe& pipe = lease->pipe();
  BeginDownload(pipe);
  ASSERT_OK_AND_ASSIGN(Message message, Hear(pipe));
  Batch batch(3);
  batch.Free(BufferName(0));
  ASSERT_TRUE(Run(batch).empty());
  for (size_t at = 0; message.has_slot(); at += kMiB) {
    const uint32_t slot = message.slot().index();
    EXPECT_EQ(std::string(pipe.data(slot), kMiB) == bytes.substr(at, kMiB),
              true);
    (void)pipe.Return(slot);  // The executor may have ended it by now.
    ASSERT_OK_AND_ASSIGN(message, Hear(pipe));
  }
  EXPECT_THAT(FromError(message.end().error()),
              StatusIs(absl::StatusCode::kFailedPrecondition, ""));
}

TEST_F(PipeTransfersTest, AReaderThatStandsStillHoldsUpNobodyElse) {
  const Lease lease = Open();
  BeginDownload(lease->pipe());
  ASSERT_OK(Hear(lease->pipe()).status());
  ASSERT_OK_AND_ASSIGN(const std::string back, Download());
  EXPECT_EQ(back.size(), kSize);
}

TEST_F(PipeTransfersTest, ALaterTryOfAnUploadEndsTheEarlierOne) {
  const Lease earlier = Open();
  Begin(earlier->pipe(), BeginTransfer::DIRECTION_UPLOAD, "name/1");
  // It is under way: its slot comes back.
  ASSERT_OK(
      earlier->pipe().Write(FilledSlot(earlier->pipe().TakeSlot(), kMiB)));
  ASSERT_OK(Hear(earlier->pipe()).status());
  const Lease later = Open();
  Begin(later->pipe(), BeginTransfer::DIRECTION_UPLOAD, "name/2");
  ASSERT_OK(later->pipe().Write(FilledSlot(later->pipe().TakeSlot(), kMiB)));
  ASSERT_OK(Hear(later->pipe()).status());
  EXPECT_THAT(AwaitEnd(earlier->pipe()),
              StatusIs(absl::StatusCode::kCancelled, ""));
  EXPECT_EQ(earlier->AwaitEnd().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(PipeTransfersTest, RangesAndHandlesAreCheckedFirst) {
  const std::string some(100, 'x');
  range_.set_offset(kSize);
  range_.set_size(some.size());
  EXPECT_THAT(Upload(some, kMiB), StatusIs(absl::StatusCode::kOutOfRange, ""));
  range_.set_offset(~uint64_t{0});
  EXPECT_THAT(Download().status(), StatusIs(absl::StatusCode::kOutOfRange, ""));
  range_.set_offset(0);
  range_.set_stream(0);
  EXPECT_THAT(Download().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, ""));
}

TEST_F(PipeTransfersTest, ATransferIsAnOperationOfItsStream) {
  Batch batch(10);
  batch.FillWord(StreamName(0), BufferName(0), 0, 64, 0x61616161);
  ASSERT_TRUE(Run(batch).empty());
  range_.set_offset(4);
  range_.set_size(4);
  range_.set_after_sequence(10);
  ASSERT_OK(Upload("word", kMiB));
  Batch read(11);
  const uint64_t sequence = read.Read(StreamName(0), BufferName(0), 0, 12);
  EXPECT_EQ(Run(read).at(sequence).data(), "aaaawordaaaa");
}

TEST_F(PipeTransfersTest, AnExecutorsOwnAddressSaysWhyItTakesNoBytes) {
  const auto refused = [](const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_NE(status.error_message().find("by an arena"), std::string::npos)
        << status.error_message();
  };
  const auto up = Context();
  v1::UploadResponse response;
  const auto writer = transfers().Upload(up.get(), &response);
  v1::UploadRequest header;
  *header.mutable_header() = range_;
  writer->Write(header);
  refused(writer->Finish());
  const auto down = Context();
  v1::DownloadRequest request;
  *request.mutable_range() = range_;
  const auto reader = transfers().Download(down.get(), request);
  refused(reader->Finish());
}

TEST_F(PipeTransfersTest, ASessionHasSoManyTransfersAndNoMore) {
  std::vector<Lease> leases;
  for (size_t i = 0; i < TransferPipes::kMaxLeases; ++i) {
    ASSERT_OK_AND_ASSIGN(Lease lease, pipes_->Take());
    leases.push_back(std::move(lease));
  }
  EXPECT_THAT(pipes_->Take().status(),
              StatusIs(absl::StatusCode::kResourceExhausted, "128"));
  leases.pop_back();
  EXPECT_OK(pipes_->Take());
}

TEST_F(PipeTransfersTest, PipesThatTheSessionHasClosedAreNotMadeAgain) {
  ASSERT_OK(Upload(Pattern(kSize), kMiB));
  pipes_->Close();
  ASSERT_OK_AND_ASSIGN(const Lease lease, pipes_->Take());
  EXPECT_THAT(lease->Open({}, absl::InfiniteFuture()),
              StatusIs(absl::StatusCode::kUnavailable, "being closed"));
}

// All pipes of the session are in use.
class BusyPipesTest : public PipeTransfersTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(PipeTransfersTest::SetUp());
    for (size_t i = 0; i < TransferPipe::kMaxPipes; ++i) {
      busy_.push_back(Open());
    }
  }
  void TearDown() override {
    busy_.clear();
    PipeTransfersTest::TearDown();
  }

  // Waits until so many transfers wait.
  void AwaitWaiting(size_t count) {
    while (pipes_->waiting() != count) std::this_thread::yield();
  }

  std::vector<Lease> busy_;
};

TEST_F(BusyPipesTest, TransfersGetPipesInTheOrderInWhichTheyWait) {
  constexpr int kWaiters = 4;
  absl::Mutex mutex;
  std::vector<int> order;
  std::vector<std::thread> waiters;
  for (int i = 0; i < kWaiters; ++i) {
    waiters.emplace_back([&, i] {
      ASSERT_OK_AND_ASSIGN(const Lease lease, pipes_->Take());
      ASSERT_OK(lease->Open({}, absl::InfiniteFuture()));
      absl::MutexLock lock(&mutex);
      order.push_back(i);
    });
    AwaitWaiting(i + 1);
  }
  busy_.pop_back();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(BusyPipesTest, AWaitThatIsGivenUpHoldsUpNoOther) {
  std::stop_source given_up;
  std::thread first([&] {
    ASSERT_OK_AND_ASSIGN(const Lease lease, pipes_->Take());
    EXPECT_THAT(lease->Open(given_up.get_token(), absl::InfiniteFuture()),
                StatusIs(absl::StatusCode::kCancelled, ""));
  });
  AwaitWaiting(1);
  std::thread second([&] {
    ASSERT_OK_AND_ASSIGN(const Lease lease, pipes_->Take());
    ASSERT_OK(lease->Open({}, absl::InfiniteFuture()));
    EXPECT_OK(DownloadBytes(lease->pipe(), range_).status());
  });
  AwaitWaiting(2);
  given_up.request_stop();
  first.join();
  busy_.pop_back();
  second.join();
}

TEST_F(BusyPipesTest, AWaitEndsAtItsDeadlineAndSaysWhy) {
  ASSERT_OK_AND_ASSIGN(const Lease lease, pipes_->Take());
  EXPECT_THAT(lease->Open({}, absl::Now() + absl::Milliseconds(50)),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "use 16 of the session's 16"));
}

TEST_F(BusyPipesTest, AWaitEndsWithTheSession) {
  std::thread waiter([&] {
    ASSERT_OK_AND_ASSIGN(const Lease lease, pipes_->Take());
    EXPECT_THAT(lease->Open({}, absl::InfiniteFuture()),
                StatusIs(absl::StatusCode::kUnavailable, "being closed"));
  });
  AwaitWaiting(1);
  pipes_->Close();
  waiter.join();
}

class ImpatientPipeTest : public PipeTransfersTest {
 protected:
  absl::Duration StallLimit() const override { return absl::Milliseconds(200); }
};

TEST_F(ImpatientPipeTest, OnlyATransferThatStandsStillIsGivenUp) {
  const Lease resting = Open();
  const Lease upload = Open();
  Begin(upload->pipe(), BeginTransfer::DIRECTION_UPLOAD);
  EXPECT_THAT(AwaitEnd(upload->pipe()),
              StatusIs(absl::StatusCode::kCancelled, ""));
  const Lease download = Open();
  BeginDownload(download->pipe());
  EXPECT_THAT(AwaitEnd(download->pipe()),
              StatusIs(absl::StatusCode::kCancelled, ""));
  EXPECT_FALSE(resting->pipe().closed());
}

// Longer than the daemon may take, for a command that comes late.
TEST_F(ImpatientPipeTest, WaitingForACommandIsNoStall) {
  range_.set_size(4);
  range_.set_after_sequence(10);
  std::thread download([&] {
    const absl::StatusOr<std::string> back = Download();
    ASSERT_OK(back);
    EXPECT_EQ(*back, "late");
  });
  absl::SleepFor(absl::Milliseconds(600));
  Batch batch(10);
  batch.Write(StreamName(0), BufferName(0), 0, "late");
  EXPECT_TRUE(Run(batch).empty());
  download.join();
}

}  // namespace
}  // namespace holdfast::testing
