// SPDX-License-Identifier: Apache-2.0
//
// Graphs through the executor: what their nodes do, what they keep, and what
// is refused.
#include "absl/strings/match.h"
#include "tests/server/executor/graph/graph_fixture.h"

namespace holdfast::testing {
namespace {

using grpc::StatusCode;

// One node that adds `value` to each word of `buffer`.
v1::GraphDefinition& Create(Batch* batch, uint64_t graph) {
  auto& command = *batch->Add().mutable_create_graph();
  command.set_graph(graph);
  return *command.mutable_definition();
}

TEST_F(GraphTest, ALaunchRunsEveryNodeInTheOrderOfItsEdges) {
  Batch batch = Next();
  v1::GraphDefinition& definition = Create(&batch, GraphName(0));
  // fill(0) -> add(3) -> copy to 1 -> child: add(4) to 1 -> join
  auto& fill = *AddNode(&definition, 10).mutable_fill();
  fill.set_buffer(BufferName(0));
  fill.set_size(kBytes);
  fill.set_word(100);
  SetAdd(AddNode(&definition, 20, {10}).mutable_launch(), BufferName(0), 3);
  auto& copy = *AddNode(&definition, 5, {20}).mutable_copy();
  copy.set_destination(BufferName(1));
  copy.set_source(BufferName(0));
  copy.set_size(kBytes);
  v1::GraphDefinition& child = *AddNode(&definition, 6, {5}).mutable_child();
  SetAdd(AddNode(&child, 10).mutable_launch(), BufferName(1), 4);
  SetAdd(AddNode(&child, 11, {10}).mutable_launch(), BufferName(1), 5);
  AddNode(&definition, 7, {6, 5}).mutable_empty();
  Instantiate(&batch, ExecName(0), GraphName(0));
  batch.Add().mutable_upload_graph()->set_graph_exec(ExecName(0));
  batch.Add();
  const auto results = Do(batch);
  ASSERT_EQ(results.size(), 2u);  // No stream; no command.
  Batch launches = Next();
  for (int i = 0; i < 3; ++i) Launch(&launches, ExecName(0));
  EXPECT_EQ(ErrorOf(launches).message(), "");
  EXPECT_EQ(WordOf(BufferName(0)), 103u);
  EXPECT_EQ(WordOf(BufferName(1)), 112u);
}

TEST_F(GraphTest, BoxesAreCopiedAndFilled) {
  Batch batch = Next();
  v1::GraphDefinition& definition = Create(&batch, GraphName(0));
  auto& fill = *AddNode(&definition, 1).mutable_fill_rect();
  fill.mutable_destination()->set_buffer(BufferName(0));
  fill.mutable_destination()->set_row_pitch(16);
  fill.set_width(4);
  fill.set_height(4);
  fill.set_byte(7);
  auto& copy = *AddNode(&definition, 2, {1}).mutable_copy_rect();
  copy.mutable_destination()->set_buffer(BufferName(1));
  copy.mutable_destination()->set_row_pitch(4);
  copy.mutable_source()->set_buffer(BufferName(0));
  copy.mutable_source()->set_row_pitch(16);
  copy.set_width(4);
  copy.set_height(3);
  copy.set_depth(1);
  Instantiate(&batch, ExecName(0), GraphName(0));
  Launch(&batch, ExecName(0));
  const uint64_t read = batch.Read(StreamName(0), BufferName(1), 0, 16);
  const auto results = Do(batch);
  EXPECT_EQ(results.at(read).data(),
            std::string(12, '\7') + std::string("\1\0\0\0", 4))
      << results.begin()->second.DebugString();
}

// Each launch waits for the events as they are then, and records its own.
TEST_F(GraphTest, EventsOrderAGraphWithStreams) {
  Batch batch = Next();
  for (const uint32_t i : {0, 1}) {
    auto& event = *batch.Add().mutable_create_event();
    event.set_event(EventName(i));
    event.set_timing(true);
  }
  v1::GraphDefinition& definition = Create(&batch, GraphName(0));
  AddNode(&definition, 1).mutable_wait()->set_event(EventName(0));
  SetAdd(AddNode(&definition, 2, {1}).mutable_launch(), BufferName(0), 1);
  AddNode(&definition, 3, {2}).mutable_record()->set_event(EventName(1));
  Instantiate(&batch, ExecName(0), GraphName(0));
  auto& record = *batch.Add().mutable_record_event();
  record.set_event(EventName(0));
  record.set_stream(StreamName(1));
  Launch(&batch, ExecName(0));
  auto& wait = *batch.Add().mutable_wait_event();
  wait.set_event(EventName(1));
  wait.set_stream(StreamName(1));
  batch.Copy(StreamName(1), BufferName(1), 0, BufferName(0), 0, kBytes);
  batch.Synchronize(StreamName(1));
  auto& elapsed = *batch.Add().mutable_elapsed_time();
  elapsed.set_start(EventName(0));
  elapsed.set_end(EventName(1));
  const auto results = Do(batch);
  for (const auto& [sequence, result] : results) {
    // The device may not have come to it yet.
    if (sequence == batch.last_sequence()) continue;
    EXPECT_FALSE(result.has_error()) << result.DebugString();
  }
  EXPECT_EQ(WordOf(BufferName(1)), 1u);
}

TEST_F(GraphTest, AGraphKeepsWhatItUsesAndTheLastOneFreesIt) {
  Batch batch = Next();
  // 16 MiB of 32: a second allocation of 24 shows whether they are free.
  constexpr uint64_t kLarge = uint64_t{16} << 20;
  batch.Allocate(BufferName(2), kLarge);
  auto& part = *batch.Add().mutable_create_sub_buffer();
  part.set_buffer(BufferName(3));
  part.set_parent(BufferName(2));
  part.set_size(kBytes);
  batch.FillWord(StreamName(0), BufferName(3), 0, kBytes, 50);
  v1::GraphDefinition& definition = Create(&batch, GraphName(0));
  SetAdd(AddNode(&definition, 1).mutable_launch(), BufferName(3), 1);
  auto& copy = *AddNode(&definition, 2, {1}).mutable_copy();
  copy.set_destination(BufferName(0));
  copy.set_source(BufferName(3));
  copy.set_size(kBytes);
  Instantiate(&batch, ExecName(0), GraphName(0));
  batch.Free(BufferName(2));
  batch.Add().mutable_unload_module()->set_module(ModuleName(0));
  batch.Add().mutable_destroy_graph()->set_graph(GraphName(0));
  batch.Allocate(BufferName(4), kLarge);
  batch.FillWord(StreamName(0), BufferName(4), 0, kLarge, 7);
  Launch(&batch, ExecName(0));
  EXPECT_EQ(ErrorOf(batch).message(), "");
  EXPECT_EQ(WordOf(BufferName(0)), 51u);
  EXPECT_EQ(AwaitChunksHeld(2), 2u)
      << "the buffer that is in the graph lies in one";

  Batch stale = Next();
  SetAdd(AddNode(&Create(&stale, GraphName(1)), 1).mutable_launch(),
         BufferName(0), 1);
  EXPECT_EQ(ErrorOf(stale).code(), StatusCode::FAILED_PRECONDITION)
      << "the kernel went with its module";

  Batch end = Next();
  Launch(&end, ExecName(0));
  end.Add().mutable_destroy_graph_exec()->set_graph_exec(ExecName(0));
  end.Allocate(BufferName(5), kLarge);
  end.FillWord(StreamName(0), BufferName(5), 0, kLarge, 9);
  EXPECT_EQ(ErrorOf(end).message(), "");
  EXPECT_EQ(WordOf(BufferName(0)), 52u);
  EXPECT_EQ(AwaitChunksHeld(2), 2u) << "what the graph gave back is used again";
}

TEST_F(GraphTest, PinnedMemoryAndVariablesAreKeptToo) {
  Batch batch = Next();
  batch.AllocateHost(BufferName(2), kBytes);
  batch.FillWord(StreamName(0), BufferName(2), 0, kBytes, 40);
  v1::GraphDefinition& definition = Create(&batch, GraphName(0));
  SetAdd(AddNode(&definition, 1).mutable_launch(), BufferName(2), 2);
  auto& copy = *AddNode(&definition, 2, {1}).mutable_copy();
  copy.set_destination(BufferName(0));
  copy.set_source(BufferName(2));
  copy.set_size(kBytes);
  batch.Free(BufferName(2));
  Instantiate(&batch, ExecName(0), GraphName(0));
  Launch(&batch, ExecName(0));
  batch.Add().mutable_destroy_graph()->set_graph(GraphName(0));
  batch.Add().mutable_destroy_graph_exec()->set_graph_exec(ExecName(0));
  // Would wait for ever if memory that a graph had kept were still promised.
  batch.AllocateHost(BufferName(3), kBytes);
  EXPECT_EQ(ErrorOf(batch).message(), "");
  EXPECT_EQ(WordOf(BufferName(0)), 42u);
}

TEST_F(GraphTest, MemoryThatAGraphKeepsStaysCharged) {
  const auto device_bytes = [this] {
    return AskUsage().usage().device_bytes().used();
  };
  const uint64_t before = device_bytes();
  Batch batch = Next();
  batch.Allocate(BufferName(2), 5000);
  SetAdd(AddNode(&Create(&batch, GraphName(0)), 1).mutable_launch(),
         BufferName(2), 1);
  batch.Free(BufferName(2));
  EXPECT_EQ(ErrorOf(batch).message(), "");
  EXPECT_EQ(device_bytes(), before + 5000);
  const auto handles = AskUsage().usage().handles();
  EXPECT_EQ(handles.rbegin()->kind(), v1::HANDLE_KIND_GRAPH);
  EXPECT_EQ(handles.rbegin()->handles().used(), 1u);
  Batch end = Next();
  end.Add().mutable_destroy_graph()->set_graph(GraphName(0));
  EXPECT_EQ(ErrorOf(end).message(), "");
  EXPECT_EQ(device_bytes(), before);
}

TEST_F(GraphTest, CopiesAreCountedAtEachLaunch) {
  Batch batch = Next();
  v1::GraphDefinition& definition = Create(&batch, GraphName(0));
  const auto add = [](v1::GraphDefinition* to, uint64_t size) {
    auto& copy = *AddNode(to, 1).mutable_copy();
    copy.set_destination(BufferName(1));
    copy.set_source(BufferName(0));
    copy.set_size(size);
  };
  add(&definition, 16);
  add(AddNode(&definition, 2).mutable_child(), 100);
  Instantiate(&batch, ExecName(0), GraphName(0));
  for (int i = 0; i < 3; ++i) Launch(&batch, ExecName(0));
  EXPECT_EQ(ErrorOf(batch).message(), "");
  const auto copies = AskUsage().copies();
  ASSERT_EQ(copies.size(), 1);
  EXPECT_EQ(copies[0].path(), v1::COPY_PATH_DEVICE);
  EXPECT_EQ(copies[0].copies(), 6u);
  EXPECT_EQ(copies[0].bytes(), 348u);
}

TEST_F(GraphTest, ACloneLivesWithoutItsSource) {
  Batch batch = Next();
  SetAdd(AddNode(&Create(&batch, GraphName(0)), 1).mutable_launch(),
         BufferName(0), 1);
  auto& clone = *batch.Add().mutable_clone_graph();
  clone.set_graph(GraphName(1));
  clone.set_source(GraphName(0));
  batch.Add().mutable_destroy_graph()->set_graph(GraphName(0));
  Instantiate(&batch, ExecName(0), GraphName(1));
  Launch(&batch, ExecName(0));
  EXPECT_EQ(ErrorOf(batch).message(), "");
  EXPECT_EQ(WordOf(BufferName(0)), 1u);
  Batch gone = Next();
  Instantiate(&gone, ExecName(1), GraphName(0));
  EXPECT_EQ(ErrorOf(gone).code(), StatusCode::FAILED_PRECONDITION);
}

TEST_F(GraphTest, AnErrorNamesTheNode) {
  struct Case {
    void (*spoil)(v1::GraphNode*);
    StatusCode code;
    const char* message;
  };
  const Case cases[] = {
      {[](v1::GraphNode* node) {
         node->mutable_launch()->mutable_arguments()->RemoveLast();
       },
       StatusCode::INVALID_ARGUMENT, "takes 2 arguments"},
      {[](v1::GraphNode* node) {
         node->mutable_launch()->mutable_arguments(1)->set_u64(1);
       },
       StatusCode::INVALID_ARGUMENT, "argument 1 of kernel add has 8 bytes"},
      {[](v1::GraphNode* node) {
         node->mutable_launch()->mutable_arguments(1)->set_graph_condition(1);
       },
       StatusCode::INVALID_ARGUMENT, "condition 1 is not declared"},
      {[](v1::GraphNode* node) {
         node->mutable_launch()->set_kernel(KernelName(77));
       },
       StatusCode::NOT_FOUND, "kernel 0x050000010000004d does not exist"},
      {[](v1::GraphNode* node) {
         node->mutable_launch()->mutable_block()->set_x(5000);
       },
       StatusCode::OUT_OF_RANGE, "5000"},
      {[](v1::GraphNode* node) {
         node->mutable_launch()->set_stream(StreamName(0));
       },
       StatusCode::INVALID_ARGUMENT, "a node of a graph has no stream"},
      {[](v1::GraphNode* node) {
         node->mutable_launch()
             ->add_attributes()
             ->set_programmatic_stream_serialization(true);
       },
       StatusCode::INVALID_ARGUMENT, "programmatic_stream_serialization"},
      {[](v1::GraphNode* node) { node->set_device(9); }, StatusCode::NOT_FOUND,
       "9"},
      {[](v1::GraphNode* node) {
         auto& fill = *node->mutable_fill();
         fill.set_buffer(BufferName(0));
         fill.set_offset(kBytes - 4);
         fill.set_size(8);
         fill.set_word(1);
       },
       StatusCode::OUT_OF_RANGE, "8 bytes at offset 252"},
      {[](v1::GraphNode* node) {
         node->mutable_wait()->set_event(EventName(0));
       },
       StatusCode::NOT_FOUND, "event"},
  };
  uint32_t graph = 0;
  for (const Case& c : cases) {
    Batch batch = Next();
    v1::GraphDefinition& definition = Create(&batch, GraphName(graph++));
    v1::GraphDefinition& child = *AddNode(&definition, 8).mutable_child();
    v1::GraphNode& node = AddNode(&child, 9);
    SetAdd(node.mutable_launch(), BufferName(0), 1);
    c.spoil(&node);
    const v1::Error error = ErrorOf(batch);
    EXPECT_EQ(error.code(), c.code) << error.message();
    EXPECT_TRUE(absl::StartsWith(error.message(), "node 8, node 9: "))
        << error.message();
    EXPECT_TRUE(absl::StrContains(error.message(), c.message))
        << error.message();
    const v1::ErrorDetail detail = DetailOf(error);
    ASSERT_EQ(detail.graph_node_size(), 2);
    EXPECT_EQ(detail.graph_node(0), 8u);
    EXPECT_EQ(detail.graph_node(1), 9u);
  }
}

TEST_F(GraphTest, AFailedDefinitionLeavesItsHandleInErrorAndHoldsNothing) {
  Batch batch = Next();
  batch.Allocate(BufferName(2), uint64_t{16} << 20);
  v1::GraphDefinition& definition = Create(&batch, GraphName(0));
  SetAdd(AddNode(&definition, 1).mutable_launch(), BufferName(2), 1);
  AddNode(&definition, 2).mutable_wait()->set_event(EventName(5));
  EXPECT_EQ(ErrorOf(batch).code(), StatusCode::NOT_FOUND);
  Batch use = Next();
  Instantiate(&use, ExecName(0), GraphName(0));
  EXPECT_TRUE(absl::StrContains(ErrorOf(use).message(), "node 2: event"));
  Batch again = Next();
  again.Free(BufferName(2));
  again.Allocate(BufferName(3), uint64_t{16} << 20);
  again.FillWord(StreamName(0), BufferName(3), 0, kBytes, 1);
  EXPECT_EQ(ErrorOf(again).message(), "");
  EXPECT_EQ(AwaitChunksHeld(1), 1u);
}

TEST_F(GraphTest, DestroyingWhatIsGoneOrNothingIsNoError) {
  Batch batch = Next();
  Create(&batch, GraphName(0));
  Instantiate(&batch, ExecName(0), GraphName(0));
  Launch(&batch, ExecName(0));
  for (int i = 0; i < 2; ++i) {
    batch.Add().mutable_destroy_graph()->set_graph(GraphName(0));
    batch.Add().mutable_destroy_graph_exec()->set_graph_exec(ExecName(0));
  }
  batch.Add().mutable_destroy_graph();
  batch.Add().mutable_destroy_graph_exec();
  EXPECT_TRUE(Do(batch).empty());
}

TEST_F(GraphTest, AGraphThatCannotBeBuiltLeavesItsAllocationsInError) {
  // Eight times 16 MiB: kept, they would lie in five chunks of 32 MiB.
  for (uint32_t i = 0; i < 8; ++i) {
    const uint64_t made = BufferName(2 + i);
    Batch batch = Next();
    v1::GraphDefinition& definition = Create(&batch, GraphName(i));
    auto& allocation = *AddNode(&definition, 1).mutable_allocation();
    allocation.set_buffer(made);
    allocation.set_size(uint64_t{16} << 20);
    AddNode(&definition, 2, {1}).mutable_fill()->set_buffer(BufferName(99));
    EXPECT_EQ(ErrorOf(batch).code(), StatusCode::NOT_FOUND);

    Batch use = Next();
    use.FillWord(StreamName(0), made, 0, kBytes, 1);
    EXPECT_EQ(ErrorOf(use).code(), StatusCode::NOT_FOUND)
        << "the first cause is repeated";
    // The memory is free again soon after the streams have come to here.
    EXPECT_EQ(WordOf(BufferName(0)), 0u);
  }
  EXPECT_LE(chunks_held(), 3u);
}

TEST_F(GraphTest, AllocationsAreChargedAndFreedOnce) {
  Batch batch = Next();
  v1::GraphDefinition& definition = Create(&batch, GraphName(0));
  auto& huge = *AddNode(&definition, 1).mutable_allocation();
  huge.set_buffer(BufferName(2));
  huge.set_size(uint64_t{1} << 50);
  EXPECT_EQ(ErrorOf(batch).code(), StatusCode::RESOURCE_EXHAUSTED);

  Batch twice = Next();
  v1::GraphDefinition& other = Create(&twice, GraphName(1));
  auto& allocation = *AddNode(&other, 1).mutable_allocation();
  allocation.set_buffer(BufferName(3));
  allocation.set_size(64);
  AddNode(&other, 2, {1}).mutable_free()->set_buffer(BufferName(3));
  AddNode(&other, 3, {2}).mutable_free()->set_buffer(BufferName(3));
  const v1::Error error = ErrorOf(twice);
  EXPECT_EQ(error.code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(error.message().find("node 3"), std::string::npos)
      << error.message();
}

}  // namespace
}  // namespace holdfast::testing
