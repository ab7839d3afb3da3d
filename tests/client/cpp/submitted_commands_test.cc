// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/submitted_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/submission/command_batch.h"
#include "client/cpp/submission/filling_batch.h"
#include "client/cpp/submission/result_slot.h"
#include "client/cpp/submission/wire_writer.h"
#include "holdfast/v1/commands.pb.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::StatusIs;

class SubmittedCommandsTest : public ::testing::Test {
 protected:
  static void WriteFence(WireWriter& writer) {
    v1::Command command;
    command.mutable_fence();
    writer.Fields(command);
  }
  static v1::CommandBatch Parsed(const CommandBatch& batch) {
    v1::CommandBatch parsed;
    EXPECT_TRUE(parsed.ParseFromArray(batch.view().data(),
                                      static_cast<int>(batch.view().size())));
    return parsed;
  }
  // The number of the first command of the batch that is to be sent, and the
  // streams that its commands destroy; 0 for a fence.
  struct Sent {
    uint64_t first = 0;
    std::vector<uint64_t> streams;
  };
  static Sent SentBy(const CommandBatch& batch) {
    Sent sent{batch.first_sequence, {}};
    const v1::CommandBatch parsed = Parsed(batch);
    for (const v1::Command& command : parsed.commands()) {
      sent.streams.push_back(command.destroy_stream().stream());
    }
    return sent;
  }
  uint64_t AddFence() {
    const auto added = commands_.Add(WriteFence);
    EXPECT_OK(added.status());
    return added.ok() ? added->sequence : 0;
  }
  uint64_t Destroy(uint64_t stream) {
    return commands_
        .AddEnd([stream](WireWriter& writer) {
          v1::Command command;
          command.mutable_destroy_stream()->set_stream(stream);
          writer.Fields(command);
        })
        .sequence;
  }
  std::shared_ptr<ResultSlot> AddAwaited() {
    auto slot = std::make_shared<ResultSlot>();
    EXPECT_OK(commands_.AddAwaited(WriteFence, slot).status());
    return slot;
  }
  // As if it had been written to a stream.
  void Send() { commands_.TakeOutgoing(); }
  static void SendNothing(std::unique_ptr<CommandBatch>) {
    ADD_FAILURE() << "a batch was sent";
  }

  const absl::Status fault_ = absl::AbortedError("a fault");
  SubmittedCommands commands_{
      std::make_shared<CommandBatchPool>(1024),
      FillingBatch::Limits{.commands = 4, .bytes = 4096, .command_bytes = 1024},
      /*received_through=*/0};
};

TEST_F(SubmittedCommandsTest, AFaultSendsAgainTheEndsThatMayNotHaveRun) {
  for (uint64_t stream = 1; stream <= 3; ++stream) Destroy(stream);
  Send();
  AddFence();
  commands_.Resume(fault_, /*begun=*/2, SendNothing);
  // Command 2 was begun and may not have ended; 5 is the fence behind them.
  const auto outgoing = commands_.TakeOutgoing();
  ASSERT_NE(outgoing.batch, nullptr);
  const Sent sent = SentBy(*outgoing.batch);
  EXPECT_EQ(sent.first, 5u);
  EXPECT_THAT(sent.streams, ElementsAre(2, 3, 0));
  EXPECT_EQ(outgoing.last_sequence, 7u);
}

TEST_F(SubmittedCommandsTest, EndsOfSeveralBatchesAreSentAsTheyFill) {
  for (uint64_t stream = 1; stream <= 9; ++stream) {
    Destroy(stream);
    Send();
  }
  std::vector<uint64_t> firsts;
  commands_.Resume(fault_, /*begun=*/0,
                   [&](std::unique_ptr<CommandBatch> batch) {
                     firsts.push_back(SentBy(*batch).first);
                   });
  EXPECT_THAT(firsts, ElementsAre(10, 14));
  EXPECT_THAT(SentBy(*commands_.TakeOutgoing().batch).streams,
              ElementsAre(9, 0));
}

TEST_F(SubmittedCommandsTest, AnEndBeforeAResultIsNotSentAgain) {
  Destroy(1);
  const auto slot = AddAwaited();
  Destroy(2);
  Send();
  v1::Result result;
  result.set_sequence(slot->sequence);
  EXPECT_EQ(commands_.NoteResult(result, absl::OkStatus()), slot);
  commands_.Resume(fault_, /*begun=*/0, SendNothing);
  EXPECT_THAT(SentBy(*commands_.TakeOutgoing().batch).streams,
              ElementsAre(2, 0));
}

TEST_F(SubmittedCommandsTest, AFaultIsToldOnceAndFailsAllWhoWait) {
  const auto slot = AddAwaited();
  EXPECT_THAT(commands_.Resume(fault_, /*begun=*/0, SendNothing),
              ElementsAre(slot));
  EXPECT_EQ(commands_.Add(WriteFence).status(), fault_);
  EXPECT_OK(commands_.Add(WriteFence).status());
  EXPECT_OK(commands_.TakeFailure());
}

TEST_F(SubmittedCommandsTest, AFaultIsTheCauseOfResourcesThatItDropped) {
  const auto made = commands_.AddCreation(WriteFence);
  const auto dropped = commands_.AddCreation(WriteFence);
  ASSERT_OK(made.status());
  ASSERT_OK(dropped.status());
  commands_.Resume(fault_, /*begun=*/made->sequence, SendNothing);
  EXPECT_OK(commands_.FailureOf(made->sequence));
  EXPECT_EQ(commands_.FailureOf(dropped->sequence), fault_);
}

TEST_F(SubmittedCommandsTest, ASuspensionSendsAgainWhatDidNotArriveInOrder) {
  AddFence();
  commands_.KeepUnsent("third");
  EXPECT_THAT(
      commands_.ResumeSuspended(/*carried_out_through=*/0, {"first", "second"}),
      IsEmpty());
  EXPECT_EQ(commands_.Unflushed(), UINT64_MAX);
  EXPECT_THAT(commands_.TakeUnsent(), ElementsAre("first", "second", "third"));
  // What is being filled stays, with its number.
  EXPECT_EQ(commands_.TakeOutgoing().batch->first_sequence, 1u);
}

TEST_F(SubmittedCommandsTest, ASuspensionFailsOnlyThoseWhoseResultsAreLost) {
  const auto carried_out = AddAwaited();
  const auto waiting = AddAwaited();
  Send();
  EXPECT_THAT(commands_.ResumeSuspended(carried_out->sequence, {}),
              ElementsAre(carried_out));
  v1::Result result;
  result.set_sequence(waiting->sequence);
  EXPECT_EQ(commands_.NoteResult(result, absl::OkStatus()), waiting);
}

TEST_F(SubmittedCommandsTest, ASuspendedSessionIsNeededOnceACommandCame) {
  commands_.state().Suspend(/*wanted=*/false);
  EXPECT_FALSE(commands_.NeedsSession());
  AddFence();
  EXPECT_TRUE(commands_.NeedsSession());
  EXPECT_TRUE(commands_.TakeOutgoing().suspended);
  // Nothing was written to a stream.
  EXPECT_EQ(commands_.written_through(), 0u);
}

TEST_F(SubmittedCommandsTest, ALostSessionKeepsNothing) {
  commands_.KeepUnsent("a batch");
  const auto slot = AddAwaited();
  const absl::Status lost = absl::UnavailableError("lost");
  EXPECT_THAT(commands_.Lose(lost), ElementsAre(slot));
  EXPECT_THAT(commands_.Lose(absl::CancelledError("closed")), IsEmpty());
  commands_.KeepUnsent("another");
  commands_.GiveBackUnsent({"a third"});
  EXPECT_THAT(commands_.TakeUnsent(), IsEmpty());
  EXPECT_EQ(Destroy(1), 0u);
  EXPECT_EQ(commands_.Add(WriteFence).status(), lost);
  EXPECT_EQ(commands_.TakeFailure(), lost);
}

TEST_F(SubmittedCommandsTest, AFailureIsOfTheOneWhoWaitsForTheCommandAlone) {
  const auto alone = commands_.AddAlone(WriteFence);
  ASSERT_OK(alone.status());
  v1::Result result;
  result.set_sequence(alone->sequence);
  const absl::Status error = absl::InvalidArgumentError("grid of 0 blocks");
  EXPECT_EQ(commands_.NoteResult(result, error), nullptr);
  EXPECT_OK(commands_.TakeFailure());
  EXPECT_EQ(commands_.TakeAlone(alone->sequence), error);
}

}  // namespace
}  // namespace holdfast
