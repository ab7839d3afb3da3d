// SPDX-License-Identifier: Apache-2.0
#include "server/executor/journal/session_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/handle.h"
#include "core/base/memfd.h"
#include "google/protobuf/message.h"
#include "proto/command_facts.h"
#include "server/account/account.h"
#include "server/executor/command/encoded_commands.h"
#include "server/executor/journal/update_sets.h"
#include "server/journal/journal_reader.h"
#include "server/journal/layout.h"
#include "server/journal/live_records.h"

namespace holdfast::executor {
namespace {

constexpr uint64_t NameOf(HandleKind kind) {
  return holdfast::Handle{kind, 1, 0}.Pack();
}

// A journal, and a session without a device.
class SessionJournalTest : public ::testing::Test {
 protected:
  SessionJournalTest()
      : memory_(CreateFixedMemfd("journal", journal::kJournalBytes).value()),
        journal_(journal::JournalWriter::Map(memory_.get()).value(), 0),
        resources_(ResourceOptions{
            {.account = std::make_shared<Account>(Account::Options{})}}) {}

  void Note(const v1::Command& command,
            const absl::Status& status = absl::OkStatus(),
            absl::string_view encoded = {}) {
    journal_.Note(command, status, resources_, encoded);
  }

  // Returns how many records there are; `live`: that a successor would repeat.
  size_t Count(bool live) {
    const std::string bytes = journal::ReadRecords(memory_.get()).value();
    const auto parsed = journal::ParseRecords(bytes).value();
    return live ? journal::LiveRecords(parsed.records).size()
                : parsed.records.size();
  }

  const UniqueFd memory_;
  SessionJournal journal_;
  Resources resources_;
};

v1::Command Update(uint64_t graph_exec, uint32_t first) {
  v1::Command command;
  v1::UpdateGraphExec& update = *command.mutable_update_graph_exec();
  update.set_graph_exec(graph_exec);
  for (const uint32_t id : {first, first + 1}) {
    v1::GraphNodeUpdate& each = *update.mutable_nodes()->add_nodes();
    each.set_id(id);
    each.mutable_node()->mutable_empty();
  }
  return command;
}

// A client makes up as many as it likes.
TEST_F(SessionJournalTest, UpdatesThatFailedAreNotRemembered) {
  const uint64_t exec = NameOf(HandleKind::kGraphExec);
  for (uint32_t i = 0; i < UpdateSets::kMaxSets; ++i) {
    Note(Update(exec, 10 * i), absl::NotFoundError("does not exist"));
  }
  EXPECT_EQ(Count(/*live=*/false), 0u);
  Note(Update(exec, 1));
  EXPECT_EQ(Count(/*live=*/false), 1u);
}

TEST_F(SessionJournalTest, GraphsAreWrittenDownAsTheyCame) {
  const uint64_t exec = NameOf(HandleKind::kGraphExec);
  v1::CommandBatch batch;
  batch.set_first_sequence(1);
  v1::CreateGraph& make = *batch.add_commands()->mutable_create_graph();
  make.set_graph(NameOf(HandleKind::kGraph));
  make.mutable_definition()->add_nodes()->mutable_empty();
  batch.add_commands()->mutable_fence();
  *batch.add_commands() = Update(exec, 1);
  const std::string bytes = batch.SerializeAsString();
  EncodedCommands encoded;
  encoded.Keep(bytes, batch);
  EXPECT_EQ(encoded.Of(1), "");
  for (const int i : {0, 2}) {
    EXPECT_EQ(encoded.Of(i), batch.commands(i).SerializeAsString());
    Note(batch.commands(i));
    Note(batch.commands(i), absl::OkStatus(), encoded.Of(i));
  }
  const std::string written = journal::ReadRecords(memory_.get()).value();
  const auto parsed = journal::ParseRecords(written).value();
  const auto& records = parsed.records;
  ASSERT_EQ(records.size(), 4u);
  for (const int i : {0, 2}) {
    EXPECT_TRUE(records[i]->has_command());
    EXPECT_EQ(records[i]->DebugString(), records[i + 1]->DebugString());
  }
}

// Commands that fail leave what they always left.
TEST_F(SessionJournalTest, AnUpdateThatFailsIsNotWrittenDownAsItCame) {
  const v1::Command update = Update(NameOf(HandleKind::kGraphExec), 1);
  Note(update, absl::NotFoundError("does not exist"),
       update.SerializeAsString());
  EXPECT_EQ(Count(/*live=*/false), 0u);
}

TEST_F(SessionJournalTest, BatchesWithoutGraphsAreNotKept) {
  v1::CommandBatch batch;
  batch.add_commands()->mutable_launch();
  EncodedCommands encoded;
  encoded.Keep(batch.SerializeAsString(), batch);
  EXPECT_EQ(encoded.bytes(), 0u);
  EXPECT_EQ(encoded.Of(0), "");
}

TEST_F(SessionJournalTest, AResourceThatIsLostAndThenEndedLeavesNothing) {
  const uint64_t exec = NameOf(HandleKind::kGraphExec);
  v1::Command make;
  make.mutable_instantiate_graph()->set_graph_exec(exec);
  Note(make);
  journal_.NoteLost(exec, /*ends_with=*/0, absl::DataLossError("lost"));
  EXPECT_EQ(Count(/*live=*/true), 1u);
  v1::Command end;
  end.mutable_destroy_graph_exec()->set_graph_exec(exec);
  Note(end);
  EXPECT_EQ(Count(/*live=*/true), 0u);
}

// Sets the fields of a message that are one handle each.
void SetHandles(google::protobuf::Message& message, uint64_t handle) {
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (field.type() != google::protobuf::FieldDescriptor::TYPE_FIXED64) {
      continue;
    }
    if (field.is_repeated()) continue;
    message.GetReflection()->SetUInt64(&message, &field, handle);
  }
}

// A new command gets its record by its row in proto/commands.inc.
TEST_F(SessionJournalTest, EveryCommandWithAnEffectIsWrittenDown) {
  const google::protobuf::Descriptor& all = *v1::Command::descriptor();
  for (int i = 0; i < all.field_count(); ++i) {
    SCOPED_TRACE(all.field(i)->name());
    v1::Command command;
    const auto index = static_cast<uint32_t>(i);
    const uint64_t handle =
        holdfast::Handle{HandleKind::kBuffer, 1, index}.Pack();
    SetHandles(*command.GetReflection()->MutableMessage(&command, all.field(i)),
               handle);
    if (command.has_free_buffer()) {
      command.mutable_free_buffer()->clear_stream();
    }
    const CommandFacts facts = FactsOf(command);
    if (facts.effect == CommandEffect::kGivesBack) {
      ASSERT_TRUE(resources_.PutError(handle, absl::DataLossError("")).ok());
    }
    const uint64_t sequence = index + 1;
    const size_t before = Count(/*live=*/false);
    journal_.Begin(sequence, command, resources_);
    journal_.End(sequence, command, absl::OkStatus(), resources_);
    const bool has_effect = facts.effect != CommandEffect::kNone;
    EXPECT_EQ(Count(/*live=*/false), before + (has_effect ? 1 : 0));
  }
}

// A report of a fault says it, whichever command it was.
TEST_F(SessionJournalTest, LastCommandsNameTheirStream) {
  const uint64_t stream = NameOf(HandleKind::kStream);
  const google::protobuf::Descriptor& all = *v1::Command::descriptor();
  uint64_t sequence = 0;
  for (int i = 0; i < all.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *all.field(i);
    if (field.real_containing_oneof() == nullptr) continue;
    const auto* named = field.message_type()->FindFieldByName("stream");
    if (named == nullptr) continue;
    v1::Command command;
    google::protobuf::Message& operation =
        *command.GetReflection()->MutableMessage(&command, &field);
    operation.GetReflection()->SetUInt64(&operation, named, stream);
    journal_.Begin(++sequence, command, resources_);
    const auto progress = journal::ReadProgress(memory_.get()).value();
    ASSERT_FALSE(progress.last_commands.empty());
    EXPECT_THAT(progress.last_commands.back(),
                ::testing::HasSubstr("on stream"))
        << field.name();
  }
  EXPECT_GT(sequence, 10u);
}

}  // namespace
}  // namespace holdfast::executor
