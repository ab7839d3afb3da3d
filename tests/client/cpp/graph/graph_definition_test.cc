// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/definition/graph_definition.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "client/cpp/graph/graph_text.h"
#include "client/cpp/graph/nested_nodes.h"
#include "client/cpp/graph/rebind.h"
#include "tests/client/cpp/graph/fake_session.h"

namespace holdfast {
namespace {

const LaunchConfig kOneBlock = {.grid = 1, .block = 32};

using GraphDefinitionTest = FakeSessionTest;

TEST_F(GraphDefinitionTest, NodesKeepTheirParametersAndDependencies) {
  GraphDefinition definition;
  ASSERT_OK_AND_ASSIGN(const GraphNode fill,
                       definition.Add(FillNode(*x_, uint32_t{7})));
  LaunchConfig config = {.grid = {4, 2}, .block = 64};
  config.attributes.priority = -1;
  ASSERT_OK_AND_ASSIGN(
      const GraphNode launch,
      definition.Add(KernelNode(config, *kernel_, *x_, 2.0f, uint64_t{9}),
                     {fill}));
  ASSERT_OK_AND_ASSIGN(
      const GraphNode copy,
      definition.Add(CopyNode({*y_, 512, *x_, 0, 256}).On(2), {launch, fill}));
  EXPECT_EQ(definition.size(), 3u);
  const v1::GraphDefinition message = definition.proto();
  EXPECT_EQ(message.nodes(0).fill().word(), 7u);
  EXPECT_EQ(message.nodes(0).fill().size(), 1024u);
  const v1::Launch& as_sent = message.nodes(1).launch();
  EXPECT_EQ(as_sent.kernel(), kernel_->handle());
  EXPECT_EQ(as_sent.stream(), 0u);
  EXPECT_EQ(as_sent.grid().y(), 2u);
  EXPECT_EQ(as_sent.attributes(0).priority(), -1);
  EXPECT_EQ(as_sent.arguments(1).f32(), 2.0f);
  EXPECT_EQ(message.nodes(1).after(0), fill.id);
  EXPECT_EQ(message.nodes(2).id(), copy.id);
  EXPECT_EQ(message.nodes(2).after_size(), 2);
  EXPECT_EQ(message.nodes(2).device(), 2u);
  EXPECT_EQ(message.nodes(2).copy().destination_offset(), 512u);
}

TEST_F(GraphDefinitionTest, WrongParametersAndDependenciesAreRefused) {
  GraphDefinition definition;
  EXPECT_THAT(definition.Add(EmptyNode(), {{7}}),
              StatusIs(absl::StatusCode::kNotFound, "no node 7"));
  ASSERT_OK_AND_ASSIGN(const GraphNode node, definition.Add(EmptyNode()));
  EXPECT_THAT(definition.Add(EmptyNode(), {node, node}),
              StatusIs(kInvalid, "twice"));
  EXPECT_THAT(definition.Add(CopyNode({*x_, 0, *y_, 1000, 25})),
              StatusIs(kRange, "25 bytes at offset 1000"));
  EXPECT_THAT(definition.Add(CopyNode({*x_, UINT64_MAX, *y_, 0, 2})),
              StatusIs(kRange, "of a buffer of 1024"));
  EXPECT_THAT(definition.Add(FillNode(*x_, uint32_t{1}, 2, 4)),
              StatusIs(kInvalid, "offset 2 is not a multiple"));
  EXPECT_THAT(definition.Add(FillNode(*x_, double{1})),
              StatusIs(kInvalid, "8 bytes"));
  EXPECT_THAT(definition.Add(KernelNode({.grid = 0, .block = 1}, *kernel_)),
              StatusIs(kInvalid, "dimension that is 0"));
  EXPECT_THAT(definition.Add(CopyBoxNode({.width = 16, .height = 9},
                                         {*x_, 0, 128}, {*y_, 0, 64})),
              StatusIs(kRange, "1040 bytes"));
  EXPECT_THAT(
      definition.Add(CopyBoxNode({.width = 16, .height = UINT64_MAX},
                                 {*x_, 0, UINT64_MAX / 2}, {*y_, 0, 64})),
      StatusIs(kRange, "buffer of 1024"));
  EXPECT_THAT(definition.Add(FillRowsNode(uint16_t{1}, {*x_, 0, 7}, 4, 2)),
              StatusIs(kInvalid, "row pitch 7"));
  EXPECT_EQ(definition.size(), 1u);
}

TEST_F(GraphDefinitionTest, ANodeCanBeChangedAndRemoved) {
  GraphDefinition definition;
  ASSERT_OK_AND_ASSIGN(const GraphNode a, definition.Add(EmptyNode()));
  ASSERT_OK_AND_ASSIGN(const GraphNode b, definition.Add(EmptyNode(), {a}));
  ASSERT_OK_AND_ASSIGN(const GraphNode c, definition.Add(EmptyNode(), {a, b}));
  ASSERT_OK(definition.Set(b, FillNode(*x_, uint8_t{1})));
  const DefinedNode changed = definition.node(1);
  EXPECT_EQ(changed.id, b.id);
  EXPECT_TRUE(changed.params.proto().has_fill());
  ASSERT_EQ(changed.after.size(), 1u);
  EXPECT_EQ(changed.after[0], a.id);
  ASSERT_OK(definition.Remove(a));
  EXPECT_EQ(definition.nodes(), (std::vector<GraphNode>{b, c}));
  const DefinedNode last = definition.node(1);
  EXPECT_EQ(last.id, c.id);
  ASSERT_EQ(last.after.size(), 1u);
  EXPECT_EQ(last.after[0], b.id);
  EXPECT_THAT(definition.Remove(a),
              StatusIs(absl::StatusCode::kNotFound, "no node 1"));
  // An id is not used again.
  ASSERT_OK_AND_ASSIGN(const GraphNode d, definition.Add(EmptyNode(), {c}));
  EXPECT_NE(d, a);
}

TEST_F(GraphDefinitionTest, ConditionsOfBodiesStayApart) {
  GraphDefinition loop;
  const GraphCondition more = loop.CreateCondition(1);
  GraphDefinition body;
  ASSERT_OK(body.Add(KernelNode(kOneBlock, *kernel_, more)));
  ASSERT_OK(loop.Add(WhileNode(more, body)));
  GraphDefinition definition;
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(definition.Add(IfNode(definition.CreateCondition(), loop)));
  }
  const v1::GraphDefinition message = definition.proto();
  const auto condition = [&message](int node) {
    const auto& branch = message.nodes(node).conditional().branches(0);
    const auto& conditional = branch.nodes(0).conditional();
    EXPECT_EQ(conditional.condition(), branch.conditions(0).id());
    EXPECT_EQ(conditional.branches(0)
                  .nodes(0)
                  .launch()
                  .arguments(0)
                  .graph_condition(),
              branch.conditions(0).id());
    return conditional.condition();
  };
  EXPECT_EQ(condition(0), more.id);
  EXPECT_NE(condition(1), more.id);
  EXPECT_OK(GraphDefinition::FromProto(message));
}

TEST_F(GraphDefinitionTest, BodiesHoldOnlyWhatTheyMay) {
  ASSERT_OK_AND_ASSIGN(const Event event, session_->device(0).CreateEvent());
  GraphDefinition body, definition;
  ASSERT_OK(body.Add(RecordNode(event)));
  const GraphCondition condition = definition.CreateCondition();
  EXPECT_THAT(
      definition.Add(IfNode(condition, body)),
      StatusIs(kInvalid,
               "branch 0: node 1: a branch of a conditional node cannot"));
  EXPECT_THAT(definition.Add(SwitchNode(condition, {})),
              StatusIs(kInvalid, "without a branch"));
}

// Under TSan this fails if readers share anything that they write.
TEST_F(GraphDefinitionTest, SeveralThreadsReadOneDefinition) {
  GraphDefinition definition;
  ASSERT_OK_AND_ASSIGN(const GraphNode fill,
                       definition.Add(FillNode(*x_, uint8_t{1})));
  ASSERT_OK(definition.Add(CopyNode(*y_, *x_), {fill}));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&definition] {
      const v1::GraphDefinition message = definition.proto();
      for (size_t index = 0; index < definition.size(); ++index) {
        EXPECT_EQ(definition.node(index).id,
                  message.nodes(static_cast<int>(index)).id());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A node of a definition that came from elsewhere.
v1::GraphNode& AddEmpty(v1::GraphDefinition& message, uint32_t id,
                        std::vector<uint32_t> after = {}) {
  v1::GraphNode& node = *message.add_nodes();
  node.set_id(id);
  node.mutable_after()->Assign(after.begin(), after.end());
  node.mutable_empty();
  return node;
}

TEST_F(GraphDefinitionTest, DefinitionsFromElsewhereAreChecked) {
  v1::GraphDefinition twice;
  AddEmpty(twice, 4);
  AddEmpty(twice, 4);
  EXPECT_THAT(GraphDefinition::FromProto(twice),
              StatusIs(kInvalid, "node 4: another node has the same id"));
  v1::GraphDefinition self;
  AddEmpty(self, 4, {4});
  EXPECT_THAT(GraphDefinition::FromProto(self),
              StatusIs(kInvalid, "does not stand earlier"));
  v1::GraphDefinition none;
  none.add_nodes()->set_id(3);
  EXPECT_THAT(GraphDefinition::FromProto(none),
              StatusIs(kInvalid, "node 3: a node without an operation"));
  v1::GraphDefinition deep;
  v1::ConditionalNode& loop = *AddEmpty(deep, 7).mutable_conditional();
  loop.set_kind(v1::ConditionalNode::KIND_WHILE);
  loop.set_condition(1);
  deep.add_conditions()->set_id(1);
  v1::GraphDefinition& body = *loop.add_branches();
  AddEmpty(body, 2);
  AddEmpty(body, 3, {1});
  EXPECT_THAT(GraphDefinition::FromProto(deep),
              StatusIs(kInvalid,
                       "node 7, branch 0, node 3: it is to come after node 1"));
  body.add_conditions()->set_id(1);
  EXPECT_THAT(GraphDefinition::FromProto(deep),
              StatusIs(kInvalid, "condition 1 is declared twice"));
}

TEST_F(GraphDefinitionTest, TenThousandLevelsAreRefusedWithoutRecursion) {
  // Protocol Buffers destroy a message level by level, but not an arena's.
  google::protobuf::Arena arena;
  auto& outer =
      *google::protobuf::Arena::CreateMessage<v1::GraphDefinition>(&arena);
  v1::GraphDefinition* level = &outer;
  for (int i = 0; i < 10'000; ++i) {
    level = AddEmpty(*level, 1).mutable_child();
  }
  EXPECT_THAT(GraphDefinition::FromProto(outer),
              StatusIs(kRange, "definitions in each other"));
}

TEST_F(GraphDefinitionTest, AnotherSessionsHandlesTakeTheirPlace) {
  ASSERT_OK_AND_ASSIGN(const Event event, session_->device(0).CreateEvent());
  ASSERT_OK_AND_ASSIGN(const Event other, session_->device(0).CreateEvent());
  GraphDefinition body, definition;
  ASSERT_OK(body.Add(KernelNode(kOneBlock, *kernel_, *x_, nullptr)));
  const GraphCondition condition = definition.CreateCondition();
  ASSERT_OK(definition.Add(IfNode(condition, body)));
  ASSERT_OK(definition.Add(RecordNode(event)));
  GraphBinding binding;
  binding.Bind(*x_, *y_);
  binding.kernels[kernel_->handle()] = 77;
  EXPECT_THAT(Rebind(definition, binding),
              StatusIs(kInvalid, "node 2: event 0 is not bound"));
  binding.Bind(event, other);
  ASSERT_OK_AND_ASSIGN(const GraphDefinition bound,
                       Rebind(definition, binding));
  const v1::GraphDefinition message = bound.proto();
  const v1::Launch& launch =
      message.nodes(0).conditional().branches(0).nodes(0).launch();
  EXPECT_EQ(launch.kernel(), 77u);
  EXPECT_EQ(launch.arguments(0).buffer().buffer(), y_->handle());
  EXPECT_EQ(launch.arguments(1).buffer().buffer(), 0u);
  EXPECT_EQ(message.nodes(1).record().event(), other.handle());
}

TEST_F(GraphDefinitionTest, TextAndDotShowNodesEdgesAndBodies) {
  v1::GraphDefinition declared;
  declared.add_conditions()->set_id(5);
  ASSERT_OK_AND_ASSIGN(GraphDefinition outer,
                       GraphDefinition::FromProto(declared));
  GraphDefinition body;
  ASSERT_OK(body.Add(KernelNode({.grid = {4, 2}, .block = 64}, *kernel_, *x_,
                                GraphCondition{5})));
  ASSERT_OK_AND_ASSIGN(const GraphNode first,
                       outer.Add(CopyNode({*y_, 4, *x_, 0, 8})));
  ASSERT_OK(outer.Add(WhileNode({5}, body), {first}));
  GraphNames names;
  names.buffers[x_->handle()] = "x \"quoted\"";
  names.kernels[kernel_->handle()] = "step";
  EXPECT_EQ(ToString(outer, names),
            "condition 5\n"
            "1: copy 8 bytes from x \"quoted\" to buffer 1 + 4\n"
            "2: while condition 5 after 1\n"
            "  body\n"
            "    1: launch step, grid 4 x 2, block 64, with (x \"quoted\", "
            "condition 5)\n");
  EXPECT_EQ(
      ToDot(outer, names, "loop"),
      "digraph \"loop\" {\n"
      "  node [shape=box];\n"
      "  n1 [label=\"1: copy 8 bytes from x \\\"quoted\\\" to buffer 1 + "
      "4\"];\n"
      "  n2 [label=\"2: while condition 5\", shape=diamond];\n"
      "  n1 -> n2;\n"
      "  subgraph cluster_n2_b0 {\n"
      "    label=\"body\";\n"
      "    n2_b0_1 [label=\"1: launch step, grid 4 x 2, block 64, with (x "
      "\\\"quoted\\\", condition 5)\"];\n"
      "  }\n"
      "  n2 -> n2_b0_1 [style=dashed];\n"
      "}\n");
}

}  // namespace
}  // namespace holdfast
