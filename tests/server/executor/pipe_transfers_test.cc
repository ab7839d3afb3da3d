// SPDX-License-Identifier: Apache-2.0
//
// Transfers through pipes: the test is the daemon, a good one or a hostile one.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "core/base/descriptor_socket.h"
#include "proto/metadata.h"
#include "server/relay/ring_call.h"
#include "server/relay/transfer_pipe.h"
#include "server/relay/transfer_pipes.h"
#include "server/rpc/status_conversion.h"
#include "tests/server/executor/executor_fixture.h"
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

  Lease Open() {
    Lease lease = pipes_->TryTake();
    EXPECT_OK(lease->Open());
    return lease;
  }

  void Begin(TransferPipe& pipe, BeginTransfer::Direction direction,
             const std::string& upload_try = "") {
    Message message;
    message.mutable_begin()->set_direction(direction);
    *message.mutable_begin()->mutable_range() = range_;
    message.mutable_begin()->set_upload_try(upload_try);
    EXPECT_OK(pipe.Write(message));
  }
  void BeginDownload(TransferPipe& pipe) {
    Begin(pipe, BeginTransfer::DIRECTION_DOWNLOAD);
  }

  // The executor's next message. CANCELLED: there is none, since it has ended.
  static absl::StatusOr<Message> Hear(TransferPipe& pipe) {
    for (;;) {
      const bool closed = pipe.closed();
      Message message;
      const absl::StatusOr<bool> heard = pipe.Read(&message);
      if (!heard.ok()) return heard.status();
      if (*heard) return message;
      if (closed) return absl::CancelledError("the pipe has ended");
      pipe.Await(/*bytes=*/0, absl::Seconds(30));
    }
  }

  static absl::Status AwaitEnd(TransferPipe& pipe) {
    for (;;) {
      const absl::StatusOr<Message> message = Hear(pipe);
      if (!message.ok()) return message.status();
      if (!message->has_end()) continue;
      if (!message->end().has_error()) return absl::OkStatus();
      return FromError(message->end().error());
    }
  }

  // The executor refuses an upload and closes the pipe at any moment, also
  // before the last message: the end of the pipe says how the upload went, not
  // a message that could not be written.
  absl::Status Upload(const std::string& bytes, size_t piece) {
    const Lease lease = Open();
    TransferPipe& pipe = lease->pipe();
    Begin(pipe, BeginTransfer::DIRECTION_UPLOAD);
    for (size_t at = 0; at < bytes.size(); at += piece) {
      while (!pipe.HasFreeSlot()) {
        const auto message = Hear(pipe);
        if (!message.ok()) return message.status();
      }
      const std::string part = bytes.substr(at, piece);
      const uint32_t slot = pipe.TakeSlot();
      std::memcpy(pipe.data(slot), part.data(), part.size());
      (void)pipe.Write(FilledSlot(slot, part.size()));
    }
    Message last;
    last.set_no_more_slots(true);
    (void)pipe.Write(last);
    const absl::Status status = AwaitEnd(pipe);
    if (status.ok()) lease->NoteDone();
    return status;
  }

  absl::StatusOr<std::string> Download() {
    const Lease lease = Open();
    TransferPipe& pipe = lease->pipe();
    BeginDownload(pipe);
    std::string bytes;
    for (;;) {
      const auto message = Hear(pipe);
      if (!message.ok()) return message.status();
      if (message->has_slot()) {
        const uint32_t slot = message->slot().index();
        bytes.append(pipe.data(slot), message->slot().size());
        EXPECT_TRUE(pipe.Return(slot));
      }
      if (!message->has_end()) continue;
      if (message->end().has_error()) return FromError(message->end().error());
      lease->NoteDone();
      return bytes;
    }
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

TEST_F(PipeTransfersTest, ASessionHasSoManyPipesAndNoMore) {
  std::vector<Lease> leases;
  for (size_t i = 0; i < TransferPipe::kMaxPipes; ++i) {
    leases.push_back(pipes_->TryTake());
    ASSERT_NE(leases.back(), nullptr);
  }
  EXPECT_EQ(pipes_->TryTake(), nullptr);
  leases.pop_back();
  EXPECT_NE(pipes_->TryTake(), nullptr);
}

TEST_F(PipeTransfersTest, PipesThatTheSessionHasClosedAreNotMadeAgain) {
  ASSERT_OK(Upload(Pattern(kSize), kMiB));
  pipes_->Close();
  EXPECT_THAT(pipes_->TryTake()->Open(),
              StatusIs(absl::StatusCode::kUnavailable, "being closed"));
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

}  // namespace
}  // namespace holdfast::testing
