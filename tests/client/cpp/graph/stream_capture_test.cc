// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/stream_capture.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "client/cpp/graph/nested_nodes.h"
#include "tests/client/cpp/graph/fake_session.h"

namespace holdfast {
namespace {

const LaunchConfig kOneBlock = {.grid = 1, .block = 32};

using StreamCaptureTest = FakeSessionTest;

TEST_F(StreamCaptureTest, OrdinaryCallsBecomeNodesAndNothingIsSent) {
  ASSERT_OK_AND_ASSIGN(StreamCapture capture, StreamCapture::Begin(*main_));
  EXPECT_TRUE(main_->IsCapturing());
  ASSERT_OK(Launch(*main_, kOneBlock, *kernel_, *x_, 2.0f));
  ASSERT_OK(x_->Fill(uint16_t{3}, 2, 4, *main_));
  ASSERT_OK(y_->CopyFrom(*x_, *main_));
  ASSERT_OK(
      CopyBox({.width = 4, .height = 2}, {*x_, 0, 8}, {*y_, 0, 16}, *main_));
  ASSERT_OK(FillRows(uint8_t{1}, {*x_, 0, 8}, 4, 2, *main_));
  const RangeCopy copies[] = {{*x_, 0, *y_, 0, 4}, {*x_, 8, *y_, 8, 4}};
  ASSERT_OK(CopyAll(copies, *main_));
  ASSERT_OK_AND_ASSIGN(const GraphDefinition graph, capture.End());
  EXPECT_FALSE(main_->IsCapturing());
  EXPECT_TRUE(Sent().empty());

  using Operation = v1::GraphNode::OperationCase;
  std::vector<Operation> operations;
  const v1::GraphDefinition message = graph.proto();
  for (const v1::GraphNode& node : message.nodes()) {
    operations.push_back(node.operation_case());
  }
  EXPECT_EQ(operations, (std::vector<Operation>{
                            v1::GraphNode::kLaunch, v1::GraphNode::kFill,
                            v1::GraphNode::kCopy, v1::GraphNode::kCopyRect,
                            v1::GraphNode::kFillRect, v1::GraphNode::kCopy,
                            v1::GraphNode::kCopy}));
  EXPECT_EQ(message.nodes(0).launch().arguments(1).f32(), 2.0f);
  EXPECT_EQ(message.nodes(0).launch().stream(), 0u);
  EXPECT_EQ(message.nodes(1).fill().half_word(), 3u);
}

TEST_F(StreamCaptureTest, TheSameAsAnExplicitDefinition) {
  ASSERT_OK_AND_ASSIGN(StreamCapture capture, StreamCapture::Begin(*main_));
  ASSERT_OK(x_->Fill(uint32_t{1}, *main_));
  ASSERT_OK(side_->Wait(*main_));
  ASSERT_OK(Launch(*main_, kOneBlock, *kernel_, *x_));
  ASSERT_OK(Launch(*side_, kOneBlock, *kernel_, *y_, uint8_t{7}));
  ASSERT_OK(main_->Wait(*side_));
  ASSERT_OK(y_->CopyFrom(*x_, *main_));
  ASSERT_OK_AND_ASSIGN(const GraphDefinition captured, capture.End());

  GraphDefinition made;
  ASSERT_OK_AND_ASSIGN(const GraphNode fill,
                       made.Add(FillNode(*x_, uint32_t{1}).On(0)));
  ASSERT_OK_AND_ASSIGN(
      const GraphNode left,
      made.Add(KernelNode(kOneBlock, *kernel_, *x_).On(0), {fill}));
  ASSERT_OK_AND_ASSIGN(
      const GraphNode right,
      made.Add(KernelNode(kOneBlock, *kernel_, *y_, uint8_t{7}).On(0), {fill}));
  ASSERT_OK(made.Add(CopyNode(*y_, *x_).On(0), {left, right}));
  EXPECT_EQ(captured.proto().DebugString(), made.proto().DebugString());
}

// A node waits for the whole of the one ahead, and may not be told otherwise.
TEST_F(StreamCaptureTest, ALaunchThatMayBeginEarlyIsAnOrdinaryNode) {
  LaunchConfig config = kOneBlock;
  config.attributes.programmatic_stream_serialization = true;
  config.attributes.priority = -1;
  ASSERT_OK_AND_ASSIGN(StreamCapture capture, StreamCapture::Begin(*main_));
  ASSERT_OK(Launch(*main_, kOneBlock, *kernel_, *x_));
  ASSERT_OK(Launch(*main_, config, *kernel_, *x_));
  ASSERT_OK_AND_ASSIGN(const GraphDefinition graph, capture.End());
  const v1::GraphNode node = graph.proto().nodes(1);
  ASSERT_EQ(node.launch().attributes_size(), 1);
  EXPECT_EQ(node.launch().attributes(0).priority(), -1);
  EXPECT_EQ(node.after_size(), 1);
}

TEST_F(StreamCaptureTest, PlacesThatAreTooSmallOrNoWholePatternsAreRefused) {
  const auto copy = CopyNode(Place(*x_), Place(*y_, 4), y_->size());
  EXPECT_EQ(copy.status().code(), absl::StatusCode::kOutOfRange);
  const auto fill = FillNode(Place(*x_), {.width = 3}, "ab");
  EXPECT_EQ(fill.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StreamCaptureTest, CallsThatNeedTheWorkDoneAreRefusedAtOnce) {
  std::vector<char> bytes(1024);
  const auto refused = [&](auto call, const std::string& words) {
    auto capture = StreamCapture::Begin(*main_);
    ASSERT_OK(capture);
    EXPECT_THAT(call(), StatusIs(kRefused, words));
    EXPECT_THAT(capture->End(), StatusIs(kRefused, "the capture failed"));
  };
  refused([&] { return main_->Synchronize(); }, "waiting for a stream");
  refused([&] { return main_->IsDone().status(); }, "if it is done");
  refused([&] { return x_->Download(bytes, *main_); }, "downloading");
  refused([&] { return x_->Upload(bytes, *main_); }, "uploading");
  refused([&] { return session_->Synchronize(); }, "all streams");
  refused([&] { return session_->Fence({&*main_}).status(); }, "a fence");
  refused(
      [&] {
        const auto event = main_->Record();
        return event->Synchronize();
      },
      "waiting for an event");
  refused(
      [&] {
        const auto event = main_->Record({.timing = true});
        return event->MillisecondsSince(*event).status();
      },
      "the time between events");
  EXPECT_OK(main_->Synchronize());
  EXPECT_OK(session_->Synchronize());
}

TEST_F(StreamCaptureTest, OtherStreamsGoOnMeanwhile) {
  ASSERT_OK_AND_ASSIGN(StreamCapture capture, StreamCapture::Begin(*main_));
  ASSERT_OK(y_->Fill(uint8_t{1}, *side_));
  ASSERT_OK(side_->Synchronize());
  ASSERT_OK_AND_ASSIGN(const Event event, side_->Record());
  ASSERT_OK(event.Synchronize());
  ASSERT_OK_AND_ASSIGN(const GraphDefinition graph, capture.End());
  EXPECT_EQ(graph.size(), 0u);
  EXPECT_EQ(Sent()[0].operation_case(), v1::Command::kFillBuffer);
}

TEST_F(StreamCaptureTest, AStreamThatTookPartIsAnOrdinaryOneAfterwards) {
  ASSERT_OK_AND_ASSIGN(StreamCapture capture, StreamCapture::Begin(*main_));
  ASSERT_OK(side_->Wait(*main_));
  EXPECT_TRUE(side_->IsCapturing());
  ASSERT_OK(main_->Wait(*side_));
  Stream moved = *std::move(side_);
  EXPECT_TRUE(moved.IsCapturing());
  ASSERT_OK(capture.End());
  EXPECT_FALSE(moved.IsCapturing());
  ASSERT_OK(x_->Fill(uint8_t{1}, moved));
  ASSERT_OK(x_->Fill(uint8_t{1}, *main_));
  int fills = 0;
  for (const v1::Command& command : Sent()) fills += command.has_fill_buffer();
  EXPECT_EQ(fills, 2);
}

TEST_F(StreamCaptureTest, ACaptureThatIsDroppedLeavesNothing) {
  {
    ASSERT_OK_AND_ASSIGN(const StreamCapture capture,
                         StreamCapture::Begin(*main_));
    ASSERT_OK(x_->Fill(uint8_t{1}, *main_));
  }
  EXPECT_FALSE(main_->IsCapturing());
  EXPECT_OK(main_->Synchronize());
}

TEST_F(StreamCaptureTest, BodiesAreCapturedOnAnotherStream) {
  ASSERT_OK_AND_ASSIGN(StreamCapture capture, StreamCapture::Begin(*main_));
  ASSERT_OK(x_->Fill(uint8_t{1}, *main_));
  ASSERT_OK_AND_ASSIGN(const GraphCondition more, capture.CreateCondition(1));
  ASSERT_OK_AND_ASSIGN(StreamCapture inner, StreamCapture::Begin(*side_));
  ASSERT_OK(Launch(*side_, kOneBlock, *kernel_, *x_, more));
  {
    // A body that uses a condition of the outer definition is checked there.
    auto body = inner.End();
    ASSERT_OK(body);
    ASSERT_OK(capture.Add(*main_, WhileNode(more, *body)));
  }
  ASSERT_OK(y_->CopyFrom(*x_, *main_));
  ASSERT_OK_AND_ASSIGN(const GraphDefinition graph, capture.End());
  EXPECT_EQ(graph.proto().nodes(1).conditional().branches(0).nodes_size(), 1);
  EXPECT_EQ(graph.proto().nodes(1).after(0), 1u);
  EXPECT_EQ(graph.proto().nodes(2).after(0), 2u);
}

TEST_F(StreamCaptureTest, ConditionsOfCapturedNodesStayApart) {
  ASSERT_OK_AND_ASSIGN(StreamCapture capture, StreamCapture::Begin(*main_));
  ASSERT_OK_AND_ASSIGN(const GraphCondition own, capture.CreateCondition());
  v1::GraphDefinition message;
  message.add_conditions()->set_id(own.id);
  ASSERT_OK_AND_ASSIGN(const GraphDefinition child,
                       GraphDefinition::FromProto(message));
  ASSERT_OK(capture.Add(*main_, ChildNode(child)));
  ASSERT_OK(capture.Add(*main_, ChildNode(child)));
  ASSERT_OK_AND_ASSIGN(const GraphDefinition graph, capture.End());
  message = graph.proto();
  const uint32_t first = message.nodes(0).child().conditions(0).id();
  const uint32_t second = message.nodes(1).child().conditions(0).id();
  EXPECT_EQ(message.conditions(0).id(), own.id);
  EXPECT_NE(first, own.id);
  EXPECT_NE(second, own.id);
  EXPECT_NE(first, second);
}

TEST_F(StreamCaptureTest, AllocationsOnTheStreamAreNodes) {
  ASSERT_OK_AND_ASSIGN(StreamCapture capture, StreamCapture::Begin(*main_));
  ASSERT_OK_AND_ASSIGN(Buffer temporary,
                       session_->device(0).Allocate(256, *main_));
  ASSERT_OK(temporary.Fill(uint8_t{1}, *main_));
  temporary.Free(*main_);
  ASSERT_OK_AND_ASSIGN(const GraphDefinition graph, capture.End());
  EXPECT_TRUE(Sent().empty());
  EXPECT_EQ(graph.proto().nodes(0).allocation().size(), 256u);
  EXPECT_EQ(graph.proto().nodes(0).allocation().buffer(), temporary.handle());
  EXPECT_EQ(graph.proto().nodes(2).free().buffer(), temporary.handle());
}

}  // namespace
}  // namespace holdfast
