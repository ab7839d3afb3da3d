// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/graph.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace holdfast::software {
namespace {

using NodeOf = GraphNode;
using EmptyOf = EmptyWork;
using ChildOf = ChildWork;
using Handles = GraphHandles;

void PublishIn(Handles& handles, const std::shared_ptr<Graph>& graph) {
  Publish(handles, graph);
}

CUresult Copy(const Graph& graph, const Graph& child, ChildOf* work) {
  return graph.CopyChild(child, work);
}

#include "tests/core/cuda/graph_bounds.inc"

}  // namespace
}  // namespace holdfast::software
