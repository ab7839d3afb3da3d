// SPDX-License-Identifier: Apache-2.0
//
// Conditional nodes: which branches run, by conditions that kernels set.
#include "tests/server/executor/graph/graph_fixture.h"
#include "tests/testing/kernels.h"

namespace holdfast::testing {
namespace {

class ConditionalTest : public GraphTest {
 protected:
  // Kernel 1 is `set`, kernel 2 `count_down`.
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(GraphTest::SetUp());
    Batch batch = Next();
    batch.LoadInline(ModuleName(1), test_ptx::kModule<test_ptx::kConditions>);
    batch.GetKernel(KernelName(1), ModuleName(1), "set");
    batch.GetKernel(KernelName(2), ModuleName(1), "count_down");
    const auto results = Do(batch);
    ASSERT_TRUE(results.empty()) << results.begin()->second.DebugString();
  }

  static v1::Argument& LaunchOne(v1::GraphNode* node, uint64_t kernel,
                                 uint32_t condition) {
    v1::Launch& launch = *node->mutable_launch();
    launch.set_kernel(kernel);
    for (v1::Dim3* dim : {launch.mutable_grid(), launch.mutable_block()}) {
      dim->set_x(1);
      dim->set_y(1);
      dim->set_z(1);
    }
    launch.add_arguments()->set_graph_condition(condition);
    return *launch.add_arguments();
  }

  static v1::ConditionalNode& AddConditional(v1::GraphDefinition* definition,
                                             uint32_t id, uint32_t after,
                                             uint32_t condition,
                                             v1::ConditionalNode::Kind kind) {
    definition->add_conditions()->set_id(condition);
    auto& node = *AddNode(definition, id, {after}).mutable_conditional();
    node.set_condition(condition);
    node.set_kind(kind);
    return node;
  }

  // The word of buffer 0 after a launch of graph 0, starting from 0.
  uint32_t Launched(const v1::GraphDefinition& definition) {
    Batch batch = Next();
    batch.FillWord(StreamName(0), BufferName(0), 0, kBytes, 0);
    auto& create = *batch.Add().mutable_create_graph();
    create.set_graph(GraphName(index_));
    *create.mutable_definition() = definition;
    Instantiate(&batch, ExecName(index_), GraphName(index_));
    Launch(&batch, ExecName(index_));
    EXPECT_EQ(ErrorOf(batch).message(), "");
    ++index_;
    return WordOf(BufferName(0));
  }

 private:
  uint32_t index_ = 0;
};

TEST_F(ConditionalTest, IfElseAndSwitchRunTheBranchOfTheValue) {
  const auto kinds = {v1::ConditionalNode::KIND_IF,
                      v1::ConditionalNode::KIND_SWITCH};
  for (const auto kind : kinds) {
    for (const uint32_t value : {0, 1}) {
      v1::GraphDefinition definition;
      LaunchOne(&AddNode(&definition, 1), KernelName(1), 5).set_u32(value);
      auto& node = AddConditional(&definition, 2, 1, 5, kind);
      for (const uint32_t branch : {0, 1}) {
        SetAdd(AddNode(node.add_branches(), 1).mutable_launch(), BufferName(0),
               10 + branch);
      }
      const bool is_if = kind == v1::ConditionalNode::KIND_IF;
      EXPECT_EQ(Launched(definition), 10 + (is_if ? 1 - value : value));
    }
  }
}

TEST_F(ConditionalTest, AWhileRunsUntilItsBodyClearsTheCondition) {
  v1::GraphDefinition definition;
  auto& fill = *AddNode(&definition, 1).mutable_fill();
  fill.set_buffer(BufferName(1));
  fill.set_size(4);
  fill.set_word(7);
  auto& node =
      AddConditional(&definition, 2, 1, 5, v1::ConditionalNode::KIND_WHILE);
  definition.mutable_conditions(0)->set_default_value(1);
  v1::GraphDefinition& body = *node.add_branches();
  LaunchOne(&AddNode(&body, 1), KernelName(2), 5)
      .mutable_buffer()
      ->set_buffer(BufferName(1));
  SetAdd(AddNode(&body, 2, {1}).mutable_launch(), BufferName(0), 3);
  EXPECT_EQ(Launched(definition), 21u);
}

TEST_F(ConditionalTest, BranchesLieInBranches) {
  v1::GraphDefinition definition;
  AddNode(&definition, 1).mutable_empty();
  v1::GraphDefinition& then =
      *AddConditional(&definition, 2, 1, 5, v1::ConditionalNode::KIND_IF)
           .add_branches();
  definition.mutable_conditions(0)->set_default_value(1);
  LaunchOne(&AddNode(&then, 1), KernelName(1), 6).set_u32(2);
  auto& inner =
      AddConditional(&then, 2, 1, 6, v1::ConditionalNode::KIND_SWITCH);
  for (const uint32_t branch : {0, 1, 2}) {
    SetAdd(AddNode(inner.add_branches(), 1).mutable_launch(), BufferName(0),
           branch + 1);
  }
  EXPECT_EQ(Launched(definition), 3u);
}

TEST_F(ConditionalTest, AWholeUpdateChangesWhatABranchDoes) {
  const auto define = [](uint32_t value) {
    v1::GraphDefinition definition;
    AddNode(&definition, 1).mutable_empty();
    auto& node =
        AddConditional(&definition, 2, 1, 5, v1::ConditionalNode::KIND_IF);
    definition.mutable_conditions(0)->set_default_value(1);
    SetAdd(AddNode(node.add_branches(), 1).mutable_launch(), BufferName(0),
           value);
    return definition;
  };
  EXPECT_EQ(Launched(define(3)), 3u);
  EXPECT_EQ(Launched(define(40)), 40u);
  Batch batch = Next();
  auto& update = *batch.Add().mutable_update_graph_exec();
  update.set_graph_exec(ExecName(0));
  update.set_graph(GraphName(1));
  Launch(&batch, ExecName(0));
  EXPECT_EQ(ErrorOf(batch).message(), "");
  EXPECT_EQ(WordOf(BufferName(0)), 80u);
}

TEST_F(ConditionalTest, AnErrorInABranchNamesTheBranch) {
  Batch batch = Next();
  auto& create = *batch.Add().mutable_create_graph();
  create.set_graph(GraphName(0));
  v1::GraphDefinition& definition = *create.mutable_definition();
  AddNode(&definition, 1).mutable_empty();
  auto& node =
      AddConditional(&definition, 7, 1, 5, v1::ConditionalNode::KIND_IF);
  node.add_branches();
  SetAdd(AddNode(node.add_branches(), 3).mutable_launch(), BufferName(44), 1);
  const v1::Error error = ErrorOf(batch);
  EXPECT_EQ(error.message().rfind("node 7, branch 1, node 3: argument 0: ", 0),
            0u)
      << error.message();
}

}  // namespace
}  // namespace holdfast::testing
