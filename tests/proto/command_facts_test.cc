// SPDX-License-Identifier: Apache-2.0
#include "proto/command_facts.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"

namespace holdfast {
namespace {

using google::protobuf::FieldDescriptor;

constexpr uint64_t kHandle = 0x0100000000000007;

// A row of the table, and a command of its kind in which each handle is
// kHandle.
struct Row {
  std::string name;
  std::string outcome;
  v1::Command command;
  CommandFacts facts;
  v1::GraphNode::OperationCase node;

  const google::protobuf::Message& message() const {
    const auto& reflection = *command.GetReflection();
    return reflection.GetMessage(
        command, command.GetDescriptor()->FindFieldByName(name));
  }
};

// Sets the fields of a message that are one handle each.
void SetHandles(google::protobuf::Message& message) {
  const auto& reflection = *message.GetReflection();
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.type() != FieldDescriptor::TYPE_FIXED64) continue;
    if (field.is_repeated()) continue;
    reflection.SetUInt64(&message, &field, kHandle);
  }
}

std::vector<Row> Rows() {
  std::vector<Row> rows;
#define HOLDFAST_COMMAND(field, Message, outcome, length, work, room, effect, \
                         resource, node)                                      \
  {                                                                           \
    Row& row =                                                                \
        rows.emplace_back(Row{#field, #outcome, {}, {}, CommandNode::node});  \
    SetHandles(*row.command.mutable_##field());                               \
    row.facts = FactsOf(row.command);                                         \
  }
#include "proto/commands.inc"
  return rows;
}

// Returns true if the command's name begins with one of the verbs.
bool BeginsWith(const Row& row, const std::vector<std::string>& verbs) {
  for (const std::string& verb : verbs) {
    if (absl::StartsWith(row.name, verb + "_")) return true;
  }
  return false;
}

TEST(CommandFactsTest, EveryFieldOfCommandHasARow) {
  EXPECT_EQ(Rows().size(),
            static_cast<size_t>(v1::Command::descriptor()->field_count()));
}

TEST(CommandFactsTest, CommandsThatMakeOrEndResourcesSayWhich) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    const CommandEffect effect = row.facts.effect;
    const bool makes = effect == CommandEffect::kMakes;
    const bool ends =
        effect == CommandEffect::kEnds || effect == CommandEffect::kGivesBack;
    EXPECT_EQ(makes, BeginsWith(row, {"create", "allocate", "reserve", "map",
                                      "load", "get", "clone", "instantiate",
                                      "import", "open"}));
    EXPECT_EQ(ends, BeginsWith(row, {"destroy", "free", "unload"}));
    EXPECT_EQ(row.facts.ended(), ends ? kHandle : 0);
    if (BeginsWith(row, {"set", "enable", "disable", "update"})) {
      EXPECT_EQ(effect, CommandEffect::kChanges);
    }
    if (effect == CommandEffect::kNone) {
      EXPECT_EQ(row.facts.resource, 0u);
    }
  }
}

// An open collection has several buffers, and peer access has no handle.
TEST(CommandFactsTest, TheResourceIsTheFirstHandleOfTheMessage) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    if (row.facts.effect == CommandEffect::kNone) continue;
    const FieldDescriptor& first =
        *row.message().GetDescriptor()->FindFieldByNumber(1);
    const bool names_one =
        first.type() == FieldDescriptor::TYPE_FIXED64 && !first.is_repeated();
    EXPECT_EQ(row.facts.resource, names_one ? kHandle : 0);
  }
}

TEST(CommandFactsTest, AStreamThatIsNamedIsTold) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    const bool names_one =
        row.message().GetDescriptor()->FindFieldByName("stream") != nullptr;
    EXPECT_EQ(row.facts.stream, names_one ? kHandle : 0);
    EXPECT_EQ(WorkOf(row.command.operation_case()), row.facts.work);
  }
}

TEST(CommandFactsTest, WorkIsLaunchesCopiesAndFills) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    const CommandWork expected =
        BeginsWith(row, {"launch"}) || row.name == "launch"
            ? CommandWork::kKernels
        : BeginsWith(row, {"copy", "fill"}) ? CommandWork::kMemory
                                            : CommandWork::kNone;
    EXPECT_EQ(row.facts.work, expected);
  }
}

// Bytes that a stream writes, later, into memory of the executor.
TEST(CommandFactsTest, ResultsThatADeviceWritesNeedInlineRoom) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    const bool writes = row.outcome == "data" || row.outcome == "semaphore";
    if (!writes && row.name != "write_buffer") continue;
    EXPECT_EQ(row.facts.room.memory, CommandRoom::Memory::kInline);
  }
}

TEST(CommandFactsTest, RoomIsAsLargeAsWhatTheCommandAsksFor) {
  v1::Command write, read, pinned, device;
  write.mutable_write_buffer()->set_data("abc");
  EXPECT_EQ(FactsOf(write).room.bytes, 3u);
  read.mutable_read_buffer()->set_size(5);
  EXPECT_EQ(FactsOf(read).room.bytes, 5u);
  pinned.mutable_allocate_buffer()->mutable_host();
  pinned.mutable_allocate_buffer()->set_size(7);
  EXPECT_EQ(FactsOf(pinned).room.memory, CommandRoom::Memory::kPinned);
  EXPECT_EQ(FactsOf(pinned).room.bytes, 7u);
  device.mutable_allocate_buffer()->set_size(7);
  EXPECT_EQ(FactsOf(device).room.memory, CommandRoom::Memory::kNone);
}

// The bytes of such a command are those of the node. Events become edges.
TEST(CommandFactsTest, CommandsAreCapturedAsTheNodesOfTheirMessages) {
  std::set<std::string> captured;
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    if (row.node == CommandNode::kNone) continue;
    const FieldDescriptor& operation =
        *v1::GraphNode::descriptor()->FindFieldByNumber(row.node);
    if (operation.message_type() == row.message().GetDescriptor()) {
      captured.insert(operation.name());
    } else {
      EXPECT_TRUE(BeginsWith(row, {"copy"}));
      EXPECT_EQ(row.node, CommandNode::kCopy);
    }
  }
  const std::set<std::string> expected = {
      "copy",   "copy_rect",        "fill",        "fill_rect",
      "launch", "signal_semaphore", "value_batch", "wait_semaphore"};
  EXPECT_EQ(captured, expected);
}

TEST(CommandFactsTest, ACommandWithoutARowHasNoEffect) {
  const CommandFacts facts = FactsOf(v1::Command());
  EXPECT_EQ(facts.effect, CommandEffect::kNone);
  EXPECT_EQ(facts.length, CommandLength::kLong);
  EXPECT_EQ(WorkOf(0), CommandWork::kNone);
}

}  // namespace
}  // namespace holdfast
