// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/graph.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace holdfast::software {
namespace {

class GraphTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> MakeGraph(size_t nodes) {
    auto graph = std::make_shared<Graph>(&handles_);
    Publish(handles_, graph);
    for (size_t i = 0; i < nodes; ++i) AddEmpty(*graph);
    return graph;
  }
  GraphNode* AddEmpty(Graph& graph) {
    GraphNode* node = nullptr;
    EXPECT_EQ(graph.AddNode(EmptyNode{}, {}, &node), CUDA_SUCCESS);
    return node;
  }
  CUresult AddCopy(Graph& graph, const Graph& child, GraphNode** node) {
    ChildNode work;
    const CUresult result = graph.CloneChild(child, &work);
    if (result != CUDA_SUCCESS) return result;
    return graph.AddNode(std::move(work), {}, node);
  }
  CUresult Move(Graph& graph, const std::shared_ptr<Graph>& child,
                GraphNode** node) {
    ChildNode work;
    const CUresult result = graph.MoveChild(child, &work);
    if (result != CUDA_SUCCESS) return result;
    return graph.AddNode(std::move(work), {}, node);
  }

  GraphHandles handles_;
  GraphNode* node_ = nullptr;
};

TEST_F(GraphTest, NodesOfInnerGraphsAreCounted) {
  const auto graph = MakeGraph(3);
  ASSERT_EQ(AddCopy(*graph, *graph, &node_), CUDA_SUCCESS);
  EXPECT_EQ(graph->count(), 3u + 1u + 3u);
  const auto inner = node_->graphs()[0];
  EXPECT_EQ(inner->count(), 3u);
  inner->RemoveNode(AddEmpty(*inner));
  AddEmpty(*inner);
  EXPECT_EQ(graph->count(), 8u);
  ASSERT_EQ(AddCopy(*graph, *graph, &node_), CUDA_SUCCESS);
  EXPECT_EQ(graph->count(), 17u);
  graph->RemoveNode(node_);
  EXPECT_EQ(graph->count(), 8u);
}

TEST_F(GraphTest, ARemovedGraphThatACaptureHoldsCountsAlone) {
  const auto graph = MakeGraph(1);
  ASSERT_EQ(AddCopy(*graph, *MakeGraph(2), &node_), CUDA_SUCCESS);
  const auto inner = node_->graphs()[0];
  graph->RemoveNode(node_);
  AddEmpty(*inner);
  EXPECT_EQ(inner->count(), 3u);
  EXPECT_EQ(graph->count(), 1u);
}

// A client could make a graph of 2^n nodes by n calls.
TEST_F(GraphTest, CopiesInAGraphAreBoundedAsAWhole) {
  const auto graph = MakeGraph(1);
  const auto half = MakeGraph(Graph::kMostNodes / 2);
  ASSERT_EQ(Move(*graph, half, &node_), CUDA_SUCCESS);
  EXPECT_EQ(AddCopy(*graph, *half, &node_), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(AddCopy(*half, *graph, &node_), CUDA_ERROR_OUT_OF_MEMORY);
  const auto other = MakeGraph(Graph::kMostNodes / 2);
  EXPECT_EQ(Move(*graph, other, &node_), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(graph->count(), Graph::kMostNodes / 2 + 2);
  // It is still the program's.
  EXPECT_EQ(Move(*MakeGraph(0), other, &node_), CUDA_SUCCESS);
}

TEST_F(GraphTest, NestingIsBounded) {
  auto graph = MakeGraph(0);
  for (int level = 1; level < Graph::kMostLevels; ++level) {
    const auto around = MakeGraph(0);
    ASSERT_EQ(Move(*around, graph, &node_), CUDA_SUCCESS) << level;
    graph = around;
  }
  EXPECT_EQ(Move(*MakeGraph(0), graph, &node_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(AddCopy(*MakeGraph(0), *graph, &node_), CUDA_ERROR_INVALID_VALUE);
  graph->Withdraw();
}

}  // namespace
}  // namespace holdfast::software
