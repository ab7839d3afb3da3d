// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/graph.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace holdfast::libcuda {
namespace {

using NodeOf = Node;
using EmptyOf = EmptyWork;
using ChildOf = ChildWork;
using Handles = GraphTable;

void PublishIn(Handles& handles, const std::shared_ptr<Graph>& graph) {
  Graph::Publish(handles, graph);
}

CUresult Copy(const Graph& graph, const Graph& child, ChildOf* work) {
  return graph.CopyChild(child, work);
}

#include "tests/core/cuda/graph_bounds.inc"

}  // namespace
}  // namespace holdfast::libcuda
