// SPDX-License-Identifier: Apache-2.0
#include "server/relay/transfer_pipe.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/ring_pair.h"
#include "core/base/unique_fd.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using testing::StatusIs;
using Message = TransferPipe::Message;

constexpr absl::Duration kLong = absl::Seconds(30);

class TransferPipeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto memory = TransferPipe::CreateMemory();
    ASSERT_OK(memory.status());
    memory_ = *std::move(memory);
    auto daemon = TransferPipe::Map(memory_.get(), TransferPipe::End::kDaemon);
    ASSERT_OK(daemon.status());
    daemon_ = *std::move(daemon);
    auto executor =
        TransferPipe::Map(memory_.get(), TransferPipe::End::kExecutor);
    ASSERT_OK(executor.status());
    executor_ = *std::move(executor);
  }

  static Message ReadFrom(TransferPipe& pipe) {
    Message message;
    const absl::StatusOr<bool> read = pipe.Read(&message);
    EXPECT_TRUE(read.ok() && *read) << read.status();
    return message;
  }

  // The executor's verdict on a message of the daemon's.
  absl::Status Judge(const Message& message) {
    EXPECT_OK(daemon_->Write(message));
    Message read;
    return executor_->Read(&read).status();
  }

  // An end that keeps to no rules.
  absl::StatusOr<std::unique_ptr<RingPair>> Rings(RingPair::End end) {
    return RingPair::Map(memory_.get(), end, /*max_message_bytes=*/100,
                         TransferPipe::kSlots * TransferPipe::kSlotBytes);
  }

  UniqueFd memory_;
  std::unique_ptr<TransferPipe> daemon_;
  std::unique_ptr<TransferPipe> executor_;
};

TEST_F(TransferPipeTest, MessagesPassBothWays) {
  Message begin;
  begin.mutable_begin()->mutable_range()->set_size(77);
  ASSERT_OK(daemon_->Write(begin));
  EXPECT_EQ(ReadFrom(*executor_).begin().range().size(), 77u);
  Message end;
  end.mutable_end()->mutable_upload()->set_size(77);
  ASSERT_OK(executor_->Write(end));
  EXPECT_EQ(ReadFrom(*daemon_).end().upload().size(), 77u);
  ASSERT_OK_AND_ASSIGN(const bool more, daemon_->Read(&end));
  EXPECT_FALSE(more);
}

TEST_F(TransferPipeTest, TheBytesOfASlotAreTheOtherEndsUntilItReturnsIt) {
  const uint32_t slot = daemon_->TakeSlot();
  std::memcpy(daemon_->data(slot), "bytes", 5);
  ASSERT_OK(daemon_->Write(FilledSlot(slot, 5)));
  const Message message = ReadFrom(*executor_);
  EXPECT_EQ(std::string(executor_->data(message.slot().index()),
                        message.slot().size()),
            "bytes");
  EXPECT_NE(daemon_->TakeSlot(), slot);
  EXPECT_FALSE(executor_->IsEmpty());
  EXPECT_TRUE(executor_->Return(slot));
  EXPECT_TRUE(executor_->IsEmpty());
  EXPECT_EQ(ReadFrom(*daemon_).returned(), slot);
  EXPECT_EQ(daemon_->TakeSlot(), slot);
}

TEST_F(TransferPipeTest, ThereAreAsManySlotsAsItSays) {
  for (uint32_t i = 0; i < TransferPipe::kSlots; ++i) {
    ASSERT_TRUE(daemon_->HasFreeSlot());
    EXPECT_EQ(daemon_->TakeSlot(), i);
  }
  EXPECT_FALSE(daemon_->HasFreeSlot());
}

TEST_F(TransferPipeTest, ASlotThatTheOtherEndMustNotNameIsFoundOut) {
  const auto kRefused = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Judge(FilledSlot(TransferPipe::kSlots, 5)),
              StatusIs(kRefused, "slot 4 of a pipe that has 4"));
  EXPECT_THAT(Judge(ReturnedSlot(1u << 31)), StatusIs(kRefused, "slot"));
  EXPECT_THAT(Judge(FilledSlot(0, 0)), StatusIs(kRefused, "0 bytes in a slot"));
  EXPECT_THAT(Judge(FilledSlot(0, TransferPipe::kSlotBytes + 1)),
              StatusIs(kRefused, "1048577 bytes in a slot"));
  EXPECT_THAT(Judge(ReturnedSlot(0)), StatusIs(kRefused, "did not have it"));
  EXPECT_OK(Judge(FilledSlot(0, 1)));
  EXPECT_THAT(Judge(FilledSlot(0, 1)), StatusIs(kRefused, "the other had it"));
}

TEST_F(TransferPipeTest, BytesThatAreNoMessageAreFoundOut) {
  ASSERT_OK_AND_ASSIGN(const auto rings, Rings(RingPair::End::kClient));
  ASSERT_OK(rings->writer().Write("\xff\xff"));
  Message message;
  EXPECT_THAT(executor_->Read(&message),
              StatusIs(absl::StatusCode::kInvalidArgument, "no PipeMessage"));
}

TEST_F(TransferPipeTest, OtherMemoryIsRefused) {
  ASSERT_OK_AND_ASSIGN(const UniqueFd rings, RingPair::CreateMemory());
  EXPECT_THAT(
      TransferPipe::Map(rings.get(), TransferPipe::End::kExecutor).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, "memfd"));
}

TEST_F(TransferPipeTest, SomethingElseEndsAWait) {
  std::thread other([this] {
    absl::SleepFor(absl::Milliseconds(50));
    daemon_->Interrupt();
  });
  daemon_->Await(/*bytes=*/0, kLong);
  other.join();
  daemon_->Interrupt();
  daemon_->Await(/*bytes=*/0, kLong);  // The one that comes next.
  std::thread end([this] {
    absl::SleepFor(absl::Milliseconds(50));
    daemon_->Close();
  });
  daemon_->Await(/*bytes=*/0, kLong);
  end.join();
  EXPECT_TRUE(daemon_->closed());
}

TEST_F(TransferPipeTest, WhatCameBeforeTheEndIsRead) {
  ASSERT_OK(executor_->Write(FilledSlot(2, 5)));
  daemon_->Close();
  EXPECT_EQ(ReadFrom(*daemon_).slot().index(), 2u);
  EXPECT_FALSE(daemon_->Return(2));
  EXPECT_THAT(daemon_->Write(Message()),
              StatusIs(absl::StatusCode::kCancelled, ""));
}

// A thread of gRPC's returns slots: it must not wait for a hostile executor.
TEST_F(TransferPipeTest, ToReturnASlotNeverWaits) {
  ASSERT_OK_AND_ASSIGN(const auto rings, Rings(RingPair::End::kExecutor));
  bool returned = true;
  for (int i = 0; returned && i < 1'000'000; ++i) {  // It reads nothing.
    ASSERT_OK(rings->writer().Write(FilledSlot(0, 1).SerializeAsString()));
    ASSERT_EQ(ReadFrom(*daemon_).slot().size(), 1u);
    returned = daemon_->Return(0);
  }
  EXPECT_FALSE(returned);
}

}  // namespace
}  // namespace holdfast
