// SPDX-License-Identifier: Apache-2.0
#include "server/executor/recovery/session_journal.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/handle.h"
#include "core/base/memfd.h"
#include "server/executor/account/account.h"
#include "server/executor/recovery/update_sets.h"
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
        resources_({.account = std::make_shared<Account>(Account::Options{})}) {
  }

  void Note(const v1::Command& command,
            const absl::Status& status = absl::OkStatus()) {
    journal_.Note(command, status, resources_);
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

}  // namespace
}  // namespace holdfast::executor
