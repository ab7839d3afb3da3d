// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/graph.h"

#include <gtest/gtest.h>

#include "client/cpp/graph/nested_nodes.h"
#include "tests/client/cpp/graph/fake_session.h"

namespace holdfast {
namespace {

const LaunchConfig kOneBlock = {.grid = 1, .block = 32};

class GraphTest : public FakeSessionTest {
 protected:
  void SetUp() override {
    FakeSessionTest::SetUp();
    ASSERT_OK_AND_ASSIGN(node_, definition_.Add(FillNode(*x_, uint8_t{1})));
  }

  GraphDefinition definition_;
  GraphNode node_;
};

TEST_F(GraphTest, TheDefinitionIsSentAsItIs) {
  uint64_t handle = 0;
  {
    ASSERT_OK_AND_ASSIGN(const Graph graph,
                         Graph::Create(*session_, definition_));
    ASSERT_OK_AND_ASSIGN(const Graph clone, graph.Clone());
    handle = graph.handle();
  }
  const auto sent = Sent();
  ASSERT_EQ(sent.size(), 4u);
  EXPECT_EQ(sent[0].create_graph().graph(), handle);
  EXPECT_EQ(sent[0].create_graph().definition().DebugString(),
            definition_.proto().DebugString());
  EXPECT_EQ(sent[1].clone_graph().source(), handle);
  EXPECT_EQ(sent[2].destroy_graph().graph(), sent[1].clone_graph().graph());
  EXPECT_EQ(sent[3].destroy_graph().graph(), handle);
}

// The executor is to end it while this process makes the next one.
TEST_F(GraphTest, TheEndOfAGraphIsTheLastOfItsBatch) {
  std::optional<GraphExec> exec;
  {
    ASSERT_OK_AND_ASSIGN(const Graph graph,
                         Graph::Create(*session_, definition_));
    ASSERT_OK_AND_ASSIGN(exec, graph.Instantiate());
  }
  exec.reset();
  ASSERT_OK(Graph::Create(*session_, definition_).status());
  ASSERT_EQ(Sent().size(), 6u);
  for (const v1::CommandBatch& batch : fake_.batches()) {
    for (int i = 0; i + 1 < batch.commands_size(); ++i) {
      EXPECT_FALSE(batch.commands(i).has_destroy_graph());
      EXPECT_FALSE(batch.commands(i).has_destroy_graph_exec());
    }
  }
}

// Bytes to send are written apart from the messages that callers see.
TEST_F(GraphTest, ADefinitionIsSentAsItWasChangedLast) {
  EXPECT_EQ(definition_.proto().nodes_size(), 1);
  const GraphDefinition before = definition_;
  GraphDefinition child;
  const GraphCondition more = child.CreateCondition(3);
  ASSERT_OK(child.Add(WhileNode(more, before)));
  ASSERT_OK_AND_ASSIGN(
      const GraphNode launch,
      definition_.Add(KernelNode(kOneBlock, *kernel_, *x_, 1.0f).On(2).On(0),
                      {node_}));
  ASSERT_OK_AND_ASSIGN(const GraphNode removed,
                       definition_.Add(EmptyNode(), {node_, launch}));
  ASSERT_OK(definition_.Add(ChildNode(child).On(1), {removed, launch}));
  ASSERT_OK(definition_.Add(ChildNode(child), {launch}));
  definition_.CreateCondition();
  EXPECT_EQ(definition_.proto().nodes_size(), 5);
  ASSERT_OK(definition_.Set(node_, FillNode(*y_, uint16_t{5})));
  ASSERT_OK(definition_.Remove(removed));
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       Graph::Create(*session_, definition_));
  ASSERT_OK_AND_ASSIGN(const Graph first, Graph::Create(*session_, before));
  const auto sent = Sent();
  ASSERT_EQ(sent.size(), 2u);
  const v1::GraphDefinition& message = sent[0].create_graph().definition();
  EXPECT_EQ(message.DebugString(), definition_.proto().DebugString());
  ASSERT_EQ(message.nodes_size(), 4);
  EXPECT_EQ(message.conditions_size(), 1);
  EXPECT_EQ(message.nodes(0).fill().half_word(), 5u);
  EXPECT_TRUE(message.nodes(1).has_device());
  EXPECT_EQ(message.nodes(1).device(), 0u);
  EXPECT_EQ(message.nodes(2).device(), 1u);
  EXPECT_EQ(message.nodes(2).after_size(), 1);
  EXPECT_NE(message.nodes(2).child().conditions(0).id(),
            message.nodes(3).child().conditions(0).id());
  EXPECT_EQ(message.nodes(3).child().conditions(0).default_value(), 3u);
  EXPECT_EQ(sent[1].create_graph().definition().DebugString(),
            before.proto().DebugString());
  EXPECT_EQ(before.size(), 1u);
}

TEST_F(GraphTest, LaunchUploadAndUpdatesAreCommandsWithoutAnswer) {
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       Graph::Create(*session_, definition_));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec,
                       graph.Instantiate({.auto_free_on_launch = true}));
  ASSERT_OK(exec.Upload(*main_));
  ASSERT_OK(exec.Launch(*main_));
  ASSERT_OK(exec.Update(graph));
  ASSERT_OK(exec.Update(node_, FillNode(*y_, uint8_t{2})));
  ASSERT_OK(exec.SetEnabled(node_, false));
  const auto sent = Sent();
  ASSERT_EQ(sent.size(), 7u);
  EXPECT_TRUE(sent[1].instantiate_graph().auto_free_on_launch());
  EXPECT_FALSE(sent[1].instantiate_graph().use_node_priority());
  EXPECT_EQ(sent[2].upload_graph().stream(), main_->handle());
  EXPECT_EQ(sent[3].launch_graph().graph_exec(), exec.handle());
  EXPECT_EQ(sent[3].launch_graph().stream(), main_->handle());
  EXPECT_EQ(sent[4].update_graph_exec().graph(), graph.handle());
  const auto& update = sent[5].update_graph_exec().nodes().nodes(0);
  EXPECT_EQ(update.id(), node_.id);
  EXPECT_EQ(update.node().fill().buffer(), y_->handle());
  EXPECT_TRUE(sent[6].update_graph_exec().nodes().nodes(0).has_enabled());
}

TEST_F(GraphTest, ManyNodesAreUpdatedByOneCommandOrNone) {
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       Graph::Create(*session_, definition_));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, graph.Instantiate());
  NodeUpdates updates;
  updates.Set(node_, KernelNode(kOneBlock, *kernel_, 1.0f), {{5}, {6}});
  updates.SetEnabled({9}, true);
  ASSERT_OK(exec.Update(updates));
  updates.Set(node_, FillNode(*x_, uint32_t{1}, 1, 4));
  EXPECT_THAT(exec.Update(updates), StatusIs(kInvalid, "node 1: offset 1"));
  const auto sent = Sent();
  ASSERT_EQ(sent.size(), 3u);
  const auto& nodes = sent[2].update_graph_exec().nodes();
  ASSERT_EQ(nodes.nodes_size(), 2);
  EXPECT_EQ(nodes.nodes(0).within_size(), 2);
  EXPECT_EQ(nodes.nodes(0).within(0), 5u);
  EXPECT_TRUE(nodes.nodes(1).enabled());
}

TEST_F(GraphTest, AGraphThatCouldNotBeMadeKnowsTheCause) {
  fake_.Fail(before_ + 1, 3, "node 1: the kernel has 2 parameters");
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       Graph::Create(*session_, definition_));
  EXPECT_THAT(session_->Synchronize(), StatusIs(kInvalid, "node 1"));
  EXPECT_THAT(graph.status(), StatusIs(kInvalid, "2 parameters"));
}

}  // namespace
}  // namespace holdfast
