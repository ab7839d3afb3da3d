// SPDX-License-Identifier: Apache-2.0
//
// Entry points: nodes of graphs and their parameters.
#include "core/software/driver/api/graph_call.h"
#include "core/software/driver/graph/node.h"

using namespace holdfast::software;

namespace {

template <typename Work>
CUcontext ContextOf(const Work& work) {
  return work.context;
}

}  // namespace

#include "core/cuda/graph_node_calls.inc"
