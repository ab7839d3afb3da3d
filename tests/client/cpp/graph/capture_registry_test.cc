// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/definition/capture_registry.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "holdfast/v1/commands.pb.h"
#include "proto/command_facts.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using testing::StatusIs;
constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
constexpr uint64_t kMain = 11, kSide = 12, kThird = 13, kEvent = 21,
                   kOther = 22;

// The encoded fields of a command.
std::string Fill(uint64_t buffer) {
  v1::Command command;
  command.mutable_fill_buffer()->set_stream(kMain);
  command.mutable_fill_buffer()->set_buffer(buffer);
  return command.SerializeAsString();
}

std::vector<uint32_t> After(const GraphDefinition& graph, size_t node) {
  const auto after = graph.node(node - 1).after;
  return {after.begin(), after.end()};
}

// Sets every number of the message itself.
void SetNumbers(google::protobuf::Message& message) {
  using Field = google::protobuf::FieldDescriptor;
  const auto& reflection = *message.GetReflection();
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const Field& field = *type.field(i);
    if (field.is_repeated()) continue;
    if (field.cpp_type() == Field::CPPTYPE_UINT64) {
      reflection.SetUInt64(&message, &field, 1000 + field.number());
    } else if (field.cpp_type() == Field::CPPTYPE_UINT32) {
      reflection.SetUInt32(&message, &field, 1000 + field.number());
    }
  }
}

void ClearStream(google::protobuf::Message& message) {
  const auto* stream = message.GetDescriptor()->FindFieldByName("stream");
  ASSERT_NE(stream, nullptr);
  message.GetReflection()->ClearField(&message, stream);
}

class CaptureRegistryTest : public ::testing::Test {
 protected:
  void AddFill(uint64_t stream, uint64_t buffer = 1) {
    const auto added = captures_.Add(stream, 0, Fill(buffer));
    ASSERT_TRUE(added.has_value());
    ASSERT_OK(*added);
  }
  void Record(uint64_t stream, uint64_t event) {
    const auto recorded = captures_.Record(stream, event);
    ASSERT_TRUE(recorded.has_value());
    ASSERT_OK(*recorded);
  }
  void Wait(uint64_t stream, uint64_t event) {
    const auto waited = captures_.Wait(stream, event);
    ASSERT_TRUE(waited.has_value());
    ASSERT_OK(*waited);
  }

  // Captures the command with every number of its message `operation` set. If
  // the nodes have the same message, they have the same fields.
  void ExpectCaptured(v1::Command& command,
                      google::protobuf::Message& operation,
                      v1::GraphNode::OperationCase expected) {
    if (expected == CommandNode::kNone) return;
    SetNumbers(operation);
    ASSERT_OK(captures_.Begin(kMain));
    ASSERT_OK(*captures_.Add(kMain, 0, command.SerializeAsString()));
    ASSERT_OK_AND_ASSIGN(const auto graph, captures_.End(kMain));
    ClearStream(operation);
    const auto& field =
        *v1::GraphNode::descriptor()->FindFieldByNumber(expected);
    for (size_t i = 0; i < graph.size(); ++i) {
      const v1::GraphNode made = graph.node(i).params.proto();
      EXPECT_EQ(made.operation_case(), expected);
      if (field.message_type() != operation.GetDescriptor()) continue;
      EXPECT_EQ(made.GetReflection()->GetMessage(made, &field).DebugString(),
                operation.DebugString());
    }
  }

  CaptureRegistry captures_;
};

TEST_F(CaptureRegistryTest, NodesOfOneStreamComeOneAfterTheOther) {
  ASSERT_OK(captures_.Begin(kMain));
  AddFill(kMain, 5);
  AddFill(kMain, 6);
  ASSERT_OK_AND_ASSIGN(const auto graph, captures_.End(kMain));
  ASSERT_EQ(graph.size(), 2u);
  const v1::GraphNode fill = graph.node(0).params.proto();
  EXPECT_EQ(fill.fill().buffer(), 5u);
  EXPECT_EQ(fill.fill().stream(), 0u);
  EXPECT_TRUE(After(graph, 1).empty());
  EXPECT_EQ(After(graph, 2), std::vector<uint32_t>{1});
}

TEST_F(CaptureRegistryTest, AStreamThatDoesNotCaptureIsLeftAlone) {
  EXPECT_FALSE(captures_.any());
  ASSERT_OK(captures_.Begin(kMain));
  EXPECT_TRUE(captures_.any());
  EXPECT_FALSE(captures_.Add(kSide, 0, Fill(1)).has_value());
  EXPECT_FALSE(captures_.Record(kSide, kEvent).has_value());
  EXPECT_FALSE(captures_.Wait(kSide, kEvent).has_value());
  EXPECT_FALSE(captures_.IsCapturing(kSide));
  ASSERT_OK(captures_.End(kMain));
  EXPECT_FALSE(captures_.any());
  EXPECT_FALSE(captures_.Add(kMain, 0, Fill(1)).has_value());
}

TEST_F(CaptureRegistryTest, ForkAndJoinBecomeEdges) {
  ASSERT_OK(captures_.Begin(kMain));
  AddFill(kMain);  // 1
  Record(kMain, kEvent);
  Wait(kSide, kEvent);  // fork
  AddFill(kMain);       // 2
  AddFill(kSide);       // 3
  Record(kSide, kOther);
  Wait(kMain, kOther);  // join
  Wait(kMain, kOther);  // twice is once
  AddFill(kMain);       // 4
  ASSERT_OK_AND_ASSIGN(const auto graph, captures_.End(kMain));
  EXPECT_EQ(After(graph, 2), std::vector<uint32_t>{1});
  EXPECT_EQ(After(graph, 3), std::vector<uint32_t>{1});
  EXPECT_EQ(After(graph, 4), (std::vector<uint32_t>{2, 3}));
}

TEST_F(CaptureRegistryTest, AStreamThatWasNotJoinedIsNamedAtTheEnd) {
  ASSERT_OK(captures_.Begin(kMain));
  Record(kMain, kEvent);
  Wait(kSide, kEvent);
  AddFill(kSide);
  EXPECT_THAT(captures_.End(kMain), StatusIs(kRefused, "node 1 (fill)"));
  EXPECT_FALSE(captures_.IsCapturing(kSide));
}

TEST_F(CaptureRegistryTest, WorkAfterTheJoinIsNotJoined) {
  ASSERT_OK(captures_.Begin(kMain));
  Record(kMain, kEvent);
  Wait(kSide, kEvent);
  AddFill(kSide);
  Record(kSide, kOther);
  Wait(kMain, kOther);
  AddFill(kSide);
  EXPECT_THAT(captures_.End(kMain), StatusIs(kRefused, "node 2 (fill)"));
}

TEST_F(CaptureRegistryTest, AJoinByWayOfAThirdStreamIsOne) {
  ASSERT_OK(captures_.Begin(kMain));
  Record(kMain, kEvent);
  Wait(kSide, kEvent);
  AddFill(kSide);
  Record(kSide, kEvent);
  Wait(kThird, kEvent);
  AddFill(kThird);
  Record(kThird, kEvent);
  Wait(kMain, kEvent);
  ASSERT_OK_AND_ASSIGN(const auto graph, captures_.End(kMain));
  EXPECT_EQ(After(graph, 2), std::vector<uint32_t>{1});
}

TEST_F(CaptureRegistryTest, EventsOfTheOutsideAndOfOtherCapturesBreakIt) {
  ASSERT_OK(captures_.Begin(kMain));
  EXPECT_THAT(*captures_.Wait(kMain, kEvent), StatusIs(kRefused, "outside"));
  EXPECT_THAT(captures_.End(kMain), StatusIs(kRefused, "outside"));

  ASSERT_OK(captures_.Begin(kMain));
  ASSERT_OK(captures_.Begin(kSide));
  Record(kMain, kEvent);
  EXPECT_THAT(*captures_.Wait(kSide, kEvent), StatusIs(kRefused, "merged"));
  EXPECT_THAT(captures_.End(kSide), StatusIs(kRefused, "merged"));
  EXPECT_OK(captures_.End(kMain));
}

TEST_F(CaptureRegistryTest, AnEventCountsForItsLastRecordingOnly) {
  ASSERT_OK(captures_.Begin(kMain));
  Record(kMain, kEvent);
  EXPECT_FALSE(captures_.Record(kSide, kEvent).has_value());
  EXPECT_OK(captures_.RefuseOnEvent(kEvent, "waiting"));
  EXPECT_FALSE(captures_.Wait(kThird, kEvent).has_value());
  EXPECT_OK(captures_.End(kMain));
}

TEST_F(CaptureRegistryTest, CallsThatNeedTheWorkDoneBreakTheCapture) {
  ASSERT_OK(captures_.Begin(kMain));
  Record(kMain, kEvent);
  EXPECT_OK(captures_.RefuseOnStream(kSide, "a read"));
  EXPECT_THAT(captures_.RefuseOnStream(kMain, "a read"),
              StatusIs(kRefused, "a read cannot be captured"));
  EXPECT_THAT(captures_.RefuseOnEvent(kEvent, "a wait"),
              StatusIs(kRefused, "a wait cannot be captured"));
  // Later calls say why, and how the stream is freed.
  const absl::Status later = *captures_.Add(kMain, 0, Fill(1));
  EXPECT_THAT(later, StatusIs(kRefused, "failed with: a read cannot"));
  EXPECT_THAT(later, StatusIs(kRefused, "end the recording (StreamCapture::"));
  EXPECT_THAT(captures_.End(kMain),
              StatusIs(kRefused, "the capture failed: a read"));
  EXPECT_OK(captures_.RefuseOnAny("a fence"));
}

TEST_F(CaptureRegistryTest, CommandsWithoutANodeAreRefused) {
  ASSERT_OK(captures_.Begin(kMain));
  v1::Command read;
  read.mutable_read_buffer();
  EXPECT_THAT(*captures_.Add(kMain, 0, read.SerializeAsString()),
              StatusIs(kRefused, "no node for read_buffer"));
}

TEST_F(CaptureRegistryTest, CopiesOfAnArenaAreCopiesOfABuffer) {
  ASSERT_OK(captures_.Begin(kMain));
  v1::Command in, out;
  in.mutable_copy_in()->set_buffer(3);
  in.mutable_copy_in()->set_offset(4);
  in.mutable_copy_in()->set_arena(5);
  in.mutable_copy_in()->set_arena_offset(6);
  in.mutable_copy_in()->set_size(7);
  ASSERT_TRUE(out.mutable_copy_out()->ParseFromString(
      in.copy_in().SerializeAsString()));
  ASSERT_OK(*captures_.Add(kMain, 2, in.SerializeAsString()));
  ASSERT_OK(*captures_.Add(kMain, 2, out.SerializeAsString()));
  ASSERT_OK_AND_ASSIGN(const auto graph, captures_.End(kMain));
  const v1::GraphDefinition message = graph.proto();
  EXPECT_EQ(message.nodes(0).copy().destination(), 3u);
  EXPECT_EQ(message.nodes(0).copy().destination_offset(), 4u);
  EXPECT_EQ(message.nodes(0).copy().source(), 5u);
  EXPECT_EQ(message.nodes(0).copy().source_offset(), 6u);
  EXPECT_EQ(message.nodes(0).copy().size(), 7u);
  EXPECT_EQ(message.nodes(0).device(), 2u);
  EXPECT_EQ(message.nodes(1).copy().destination(), 5u);
  EXPECT_EQ(message.nodes(1).copy().source(), 3u);
}

TEST_F(CaptureRegistryTest, ANodeHasAllOfItsCommandButTheStream){
#define HOLDFAST_COMMAND(field, Message, outcome, length, work, room, effect, \
                         resource, node)                                      \
  {                                                                           \
    SCOPED_TRACE(#field);                                                     \
    v1::Command command;                                                      \
    ExpectCaptured(command, *command.mutable_##field(), CommandNode::node);   \
  }
#include "proto/commands.inc"
}

TEST_F(CaptureRegistryTest, ABatchOfCopiesIsSeveralNodesThatTheNextWaitsFor) {
  ASSERT_OK(captures_.Begin(kMain));
  AddFill(kMain);
  v1::Command batch;
  for (const uint64_t size : {1, 2, 3}) {
    batch.mutable_copy_batch()->add_copies()->set_size(size);
  }
  ASSERT_OK(*captures_.Add(kMain, 0, batch.SerializeAsString()));
  v1::Command none;
  none.mutable_copy_batch();
  ASSERT_OK(*captures_.Add(kMain, 0, none.SerializeAsString()));
  AddFill(kMain);
  ASSERT_OK_AND_ASSIGN(const auto graph, captures_.End(kMain));
  ASSERT_EQ(graph.size(), 5u);
  EXPECT_EQ(After(graph, 4), std::vector<uint32_t>{1});
  EXPECT_EQ(After(graph, 5), (std::vector<uint32_t>{2, 3, 4}));
}

TEST_F(CaptureRegistryTest, OnlyTheOriginEndsIt) {
  ASSERT_OK(captures_.Begin(kMain));
  EXPECT_THAT(captures_.Begin(kMain), StatusIs(kRefused, "captures already"));
  Record(kMain, kEvent);
  Wait(kSide, kEvent);
  EXPECT_THAT(captures_.Begin(kSide), StatusIs(kRefused, "captures already"));
  EXPECT_THAT(captures_.End(kSide), StatusIs(kRefused, "another stream"));
  EXPECT_OK(captures_.End(kMain));
  EXPECT_THAT(captures_.End(kMain), StatusIs(kRefused, "does not capture"));
}

TEST_F(CaptureRegistryTest, TheSameChildTwiceHasConditionsOfItsOwn) {
  v1::GraphNode child;
  child.mutable_child()->add_conditions()->set_id(1);
  v1::GraphNode& loop = *child.mutable_child()->add_nodes();
  loop.set_id(1);
  loop.mutable_conditional()->set_condition(1);
  ASSERT_OK(captures_.Begin(kMain));
  ASSERT_OK(captures_.AddNode(kMain, 0, NodeParams(child)));
  ASSERT_OK(captures_.AddNode(kMain, 0, NodeParams(child)));
  ASSERT_OK_AND_ASSIGN(const auto graph, captures_.End(kMain));
  const v1::GraphNode node = graph.node(1).params.proto();
  const v1::GraphDefinition& second = node.child();
  EXPECT_NE(second.conditions(0).id(), 1u);
  EXPECT_EQ(second.nodes(0).conditional().condition(),
            second.conditions(0).id());
}

}  // namespace
}  // namespace holdfast
