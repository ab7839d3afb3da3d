// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/graph_file.h"

#include <gtest/gtest.h>

#include <string>

#include "client/cpp/graph/nested_nodes.h"
#include "holdfast/v1/graph_file.pb.h"
#include "tests/client/cpp/graph/fake_session.h"

namespace holdfast {
namespace {

constexpr auto kJson = GraphFileFormat::kJson;
constexpr auto kText = GraphFileFormat::kTextProto;

using GraphFileTest = FakeSessionTest;

TEST_F(GraphFileTest, ADefinitionComesBackFromEitherFormat) {
  ASSERT_OK_AND_ASSIGN(const Event event, session_->device(0).CreateEvent());
  ASSERT_OK_AND_ASSIGN(const Buffer memory,
                       Buffer::OfGraph(session_->state(), 64));
  GraphDefinition definition, body;
  const GraphCondition more = definition.CreateCondition(1);
  ASSERT_OK(body.Add(
      KernelNode({.grid = 1, .block = 32}, *kernel_, *y_, 0.5f, more)));
  ASSERT_OK_AND_ASSIGN(const GraphNode allocate,
                       definition.Add(AllocationNode(memory, 0)));
  ASSERT_OK_AND_ASSIGN(const GraphNode loop,
                       definition.Add(WhileNode(more, body), {allocate}));
  ASSERT_OK_AND_ASSIGN(
      const GraphNode copy,
      definition.Add(CopyNode({memory, 0, *x_, 0, 64}), {loop}));
  ASSERT_OK(definition.Add(RecordNode(event), {copy}));

  GraphFileWriter writer;
  writer.Name(*kernel_, "kernels.cu", "step");
  writer.Name(*x_, "x");
  writer.Name(*y_, "y", /*scratch=*/true);
  EXPECT_THAT(writer.Write(definition),
              StatusIs(kInvalid, "event 0 is not bound"));
  writer.Name(event, "done");
  ASSERT_OK_AND_ASSIGN(const v1::GraphFile file, writer.Write(definition));
  EXPECT_EQ(file.definition().nodes(0).allocation().buffer(), 3u);
  EXPECT_EQ(file.definition().nodes(2).copy().source(), 1u);
  for (const GraphFileFormat format : {kJson, kText}) {
    ASSERT_OK_AND_ASSIGN(const std::string text, FormatGraphFile(file, format));
    ASSERT_OK_AND_ASSIGN(const v1::GraphFile read,
                         ParseGraphFile(text, format));
    EXPECT_EQ(read.DebugString(), file.DebugString()) << text;
  }

  // Bound to the same things again, it is the same definition.
  GraphBinding binding;
  binding.kernels[1] = kernel_->handle();
  binding.buffers = {
      {1, x_->handle()}, {2, y_->handle()}, {3, memory.handle()}};
  binding.events[1] = event.handle();
  ASSERT_OK_AND_ASSIGN(const GraphDefinition numbered,
                       GraphDefinition::FromProto(file.definition()));
  ASSERT_OK_AND_ASSIGN(const GraphDefinition bound, Rebind(numbered, binding));
  EXPECT_EQ(bound.proto().DebugString(), definition.proto().DebugString());
}

TEST_F(GraphFileTest, DimensionsThatAreLeftOutAreOne) {
  ASSERT_OK_AND_ASSIGN(
      const v1::GraphFile file,
      ParseGraphFile("kernels { id: 1 } definition { nodes { id: 1 launch { "
                     "kernel: 1 block { x: 8 y: 2 } } } }",
                     kText));
  const v1::Launch& launch = file.definition().nodes(0).launch();
  EXPECT_EQ(launch.grid().x(), 1u);
  EXPECT_EQ(launch.block().y(), 2u);
  EXPECT_EQ(launch.block().z(), 1u);
  EXPECT_FALSE(launch.has_cluster());
}

TEST_F(GraphFileTest, ErrorsSayWhere) {
  EXPECT_THAT(ParseGraphFile("kernels {\n  id: x\n}", kText),
              StatusIs(kInvalid, "line 2, column 7"));
  EXPECT_THAT(ParseGraphFile("{\"kernel\": []}", kJson),
              StatusIs(kInvalid, "kernel"));
  EXPECT_THAT(ParseGraphFile("kernels { id: 0 }", kText),
              StatusIs(kInvalid, "numbers begin with 1"));
  EXPECT_THAT(ParseGraphFile("buffers { id: 2 } buffers { id: 2 }", kText),
              StatusIs(kInvalid, "buffer 2 is there twice"));
  EXPECT_THAT(ParseGraphFile(
                  "definition { nodes { id: 4 record { event: 9 } } }", kText),
              StatusIs(kInvalid, "node 4: the file has no event 9"));
  EXPECT_THAT(ParseGraphFile("buffers { id: 1 } definition { nodes { id: 4 "
                             "allocation { buffer: 1 size: 8 } } }",
                             kText),
              StatusIs(kInvalid, "node 4 allocates buffer 1"));
  EXPECT_THAT(FormatOfPath("graph.yaml"), StatusIs(kInvalid, ".textproto"));
}

TEST_F(GraphFileTest, TextThatNestsWithoutEndIsAnError) {
  std::string text = "definition ", json = "{\"definition\": ";
  for (int i = 0; i < 100'000; ++i) {
    text += "{ nodes { id: 1 child ";
    json += "{\"nodes\": [{\"id\": 1, \"child\": ";
  }
  EXPECT_THAT(ParseGraphFile(text, kText), StatusIs(kInvalid, ""));
  EXPECT_THAT(ParseGraphFile(json, kJson), StatusIs(kInvalid, ""));
}

}  // namespace
}  // namespace holdfast
