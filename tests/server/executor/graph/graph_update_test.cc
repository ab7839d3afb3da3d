// SPDX-License-Identifier: Apache-2.0
//
// Changes of instantiated graphs.
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/server/executor/graph/graph_fixture.h"

namespace holdfast::testing {
namespace {

using grpc::StatusCode;

class GraphUpdateTest : public GraphTest {
 protected:
  // Graph and exec 0: node 1 adds 1 to buffer 0, then node 2, a child graph,
  // whose node 1 adds 10 to it.
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(GraphTest::SetUp());
    Batch batch = Next();
    Define(&batch, GraphName(0), 1, 10);
    Instantiate(&batch, ExecName(0), GraphName(0));
    ASSERT_EQ(ErrorOf(batch).message(), "");
  }

  static v1::GraphDefinition& Define(Batch* batch, uint64_t graph,
                                     uint32_t first, uint32_t second) {
    auto& command = *batch->Add().mutable_create_graph();
    command.set_graph(graph);
    v1::GraphDefinition& definition = *command.mutable_definition();
    SetAdd(AddNode(&definition, 1).mutable_launch(), BufferName(0), first);
    v1::GraphDefinition& child = *AddNode(&definition, 2, {1}).mutable_child();
    SetAdd(AddNode(&child, 1).mutable_launch(), BufferName(0), second);
    return definition;
  }

  static v1::GraphNodeUpdates& UpdateNodes(Batch* batch) {
    auto& command = *batch->Add().mutable_update_graph_exec();
    command.set_graph_exec(ExecName(0));
    return *command.mutable_nodes();
  }

  static v1::GraphNodeUpdate& Update(v1::GraphNodeUpdates* updates,
                                     const std::vector<uint32_t>& path) {
    v1::GraphNodeUpdate& update = *updates->add_nodes();
    for (size_t i = 0; i + 1 < path.size(); ++i) update.add_within(path[i]);
    update.set_id(path.back());
    return update;
  }

  // The sum that a launch adds to buffer 0.
  uint32_t Effect() {
    Batch batch = Next();
    batch.FillWord(StreamName(0), BufferName(0), 0, kBytes, 0);
    Launch(&batch, ExecName(0));
    EXPECT_EQ(ErrorOf(batch).message(), "");
    return WordOf(BufferName(0));
  }
};

TEST_F(GraphUpdateTest, AnotherDefinitionOfTheSameShapeReplacesParameters) {
  EXPECT_EQ(Effect(), 11u);
  Batch batch = Next();
  Define(&batch, GraphName(1), 2, 20);
  auto& update = *batch.Add().mutable_update_graph_exec();
  update.set_graph_exec(ExecName(0));
  update.set_graph(GraphName(1));
  batch.Add().mutable_destroy_graph()->set_graph(GraphName(1));
  batch.Add().mutable_destroy_graph()->set_graph(GraphName(0));
  EXPECT_EQ(ErrorOf(batch).message(), "");
  EXPECT_EQ(Effect(), 22u);
}

TEST_F(GraphUpdateTest, AnotherShapeIsRefusedWithTheDriversReason) {
  Batch batch = Next();
  v1::GraphDefinition& definition = Define(&batch, GraphName(1), 2, 20);
  AddNode(&definition, 3, {1}).mutable_empty();
  auto& update = *batch.Add().mutable_update_graph_exec();
  update.set_graph_exec(ExecName(0));
  update.set_graph(GraphName(1));
  const v1::Error error = ErrorOf(batch);
  EXPECT_EQ(error.code(), StatusCode::FAILED_PRECONDITION) << error.message();
  EXPECT_EQ(DetailOf(error).graph_update_result(),
            "CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED");
  EXPECT_EQ(Effect(), 11u);
}

TEST_F(GraphUpdateTest, ANodeThatBecameAnotherKindIsNamed) {
  Batch batch = Next();
  v1::GraphDefinition& definition = Define(&batch, GraphName(1), 2, 20);
  definition.mutable_nodes(0)->mutable_empty();
  auto& update = *batch.Add().mutable_update_graph_exec();
  update.set_graph_exec(ExecName(0));
  update.set_graph(GraphName(1));
  const v1::Error error = ErrorOf(batch);
  EXPECT_EQ(error.code(), StatusCode::FAILED_PRECONDITION) << error.message();
  const v1::ErrorDetail detail = DetailOf(error);
  EXPECT_EQ(detail.graph_update_result(),
            "CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED");
  ASSERT_EQ(detail.graph_node_size(), 1);
  EXPECT_EQ(detail.graph_node(0), 1u);
}

TEST_F(GraphUpdateTest, SingleNodesChangeInChildGraphsToo) {
  Batch batch = Next();
  v1::GraphNodeUpdates& updates = UpdateNodes(&batch);
  SetAdd(Update(&updates, {1}).mutable_node()->mutable_launch(), BufferName(0),
         5);
  SetAdd(Update(&updates, {2, 1}).mutable_node()->mutable_launch(),
         BufferName(0), 50);
  EXPECT_EQ(ErrorOf(batch).message(), "");
  EXPECT_EQ(Effect(), 55u);
}

TEST_F(GraphUpdateTest, ADisabledNodeDoesNothingUntilItIsEnabled) {
  Batch batch = Next();
  Update(&UpdateNodes(&batch), {1}).set_enabled(false);
  EXPECT_EQ(ErrorOf(batch).message(), "");
  EXPECT_EQ(Effect(), 10u);
  Batch enable = Next();
  Update(&UpdateNodes(&enable), {1}).set_enabled(true);
  EXPECT_EQ(ErrorOf(enable).message(), "");
  EXPECT_EQ(Effect(), 11u);
}

TEST_F(GraphUpdateTest, ARefusedUpdateChangesNoOtherNode) {
  Batch before = Next();
  SetAdd(Update(&UpdateNodes(&before), {1}).mutable_node()->mutable_launch(),
         BufferName(0), 7);
  EXPECT_EQ(ErrorOf(before).message(), "");
  struct Case {
    void (*spoil)(v1::GraphNodeUpdate*);
    StatusCode code;
    const char* message;
  };
  const Case cases[] = {
      {[](v1::GraphNodeUpdate* update) { update->set_id(9); },
       StatusCode::NOT_FOUND, "node 2, node 9: the graph has no such node"},
      {[](v1::GraphNodeUpdate* update) { update->set_within(0, 1); },
       StatusCode::NOT_FOUND, "node 1: the graph has no child node 1 there"},
      {[](v1::GraphNodeUpdate* update) {
         update->mutable_node()->mutable_empty();
       },
       StatusCode::INVALID_ARGUMENT, "the same kind"},
      {[](v1::GraphNodeUpdate* update) { update->clear_change(); },
       StatusCode::INVALID_ARGUMENT, "changes nothing"},
      {[](v1::GraphNodeUpdate* update) {
         update->clear_within();
         update->set_id(2);
         update->set_enabled(false);
       },
       StatusCode::INVALID_ARGUMENT, "only launches, copies and fills"},
      {[](v1::GraphNodeUpdate* update) {
         update->mutable_node()->mutable_launch()->set_cooperative(true);
       },
       StatusCode::FAILED_PRECONDITION, "cooperation"},
      {[](v1::GraphNodeUpdate* update) {
         update->mutable_node()
             ->mutable_launch()
             ->mutable_arguments(1)
             ->set_u64(1);
       },
       StatusCode::INVALID_ARGUMENT, "node 2, node 1: argument 1"},
      {[](v1::GraphNodeUpdate* update) {
         update->mutable_node()->set_device(1);
       },
       StatusCode::INVALID_ARGUMENT, "cannot move to device 1"},
  };
  for (const Case& c : cases) {
    Batch batch = Next();
    v1::GraphNodeUpdates& updates = UpdateNodes(&batch);
    SetAdd(Update(&updates, {1}).mutable_node()->mutable_launch(),
           BufferName(0), 100);
    v1::GraphNodeUpdate& bad = Update(&updates, {2, 1});
    SetAdd(bad.mutable_node()->mutable_launch(), BufferName(0), 1000);
    c.spoil(&bad);
    const v1::Error error = ErrorOf(batch);
    EXPECT_EQ(error.code(), c.code) << error.message();
    EXPECT_TRUE(absl::StrContains(error.message(), c.message))
        << error.message();
    EXPECT_EQ(Effect(), 17u) << c.message;
  }
}

// Two instances would run in the same memory.
TEST_F(GraphUpdateTest, AGraphWithAllocationsHasOneInstanceByUpdatesToo) {
  Batch batch = Next();
  for (const uint32_t i : {1, 2}) {
    auto& create = *batch.Add().mutable_create_graph();
    create.set_graph(GraphName(i));
    v1::GraphDefinition& definition = *create.mutable_definition();
    auto& allocation = *AddNode(&definition, 1).mutable_allocation();
    allocation.set_buffer(BufferName(1 + i));
    allocation.set_size(kBytes);
    SetAdd(AddNode(&definition, 2, {1}).mutable_launch(), BufferName(0), i);
    Instantiate(&batch, ExecName(i), GraphName(i));
  }
  const auto update = [](Batch* to, uint32_t exec, uint32_t graph) {
    auto& command = *to->Add().mutable_update_graph_exec();
    command.set_graph_exec(ExecName(exec));
    command.set_graph(GraphName(graph));
  };
  update(&batch, 1, 1);
  EXPECT_EQ(ErrorOf(batch).message(), "");

  Batch second = Next();
  update(&second, 1, 2);
  const v1::Error error = ErrorOf(second);
  EXPECT_EQ(error.code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(absl::StrContains(error.message(), "one instance at a time"))
      << error.message();

  Batch alone = Next();
  alone.Add().mutable_destroy_graph_exec()->set_graph_exec(ExecName(2));
  update(&alone, 1, 2);
  EXPECT_EQ(ErrorOf(alone).message(), "");
  Batch again = Next();
  Instantiate(&again, ExecName(3), GraphName(2));
  EXPECT_EQ(ErrorOf(again).code(), StatusCode::FAILED_PRECONDITION);
}

// A buffer that an update brings is kept; the one that it replaces goes.
TEST_F(GraphUpdateTest, UpdatesKeepWhatTheyUseAndLetGoOfWhatTheyReplace) {
  constexpr uint64_t kLarge = uint64_t{16} << 20;
  // Kept, they would lie in eight chunks of 32 MiB.
  for (uint32_t i = 2; i < 18; ++i) {
    Batch batch = Next();
    batch.Allocate(BufferName(i), kLarge);
    batch.FillWord(StreamName(0), BufferName(i), 0, kBytes, i);
    SetAdd(Update(&UpdateNodes(&batch), {1}).mutable_node()->mutable_launch(),
           BufferName(i), 1);
    batch.Free(BufferName(i));
    Launch(&batch, ExecName(0));
    EXPECT_EQ(ErrorOf(batch).message(), "");
  }
  // Their memory is free when the device has come so far, and goes back when
  // the session asks for more.
  for (int i = 0; i < 1000 && chunks_held() > 4; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
    Batch batch = Next();
    batch.Allocate(BufferName(18), 4 * kLarge);
    batch.Free(BufferName(18));
    EXPECT_EQ(ErrorOf(batch).message(), "");
  }
  EXPECT_LE(chunks_held(), 4u);
}

}  // namespace
}  // namespace holdfast::testing
