// SPDX-License-Identifier: Apache-2.0
//
// Entry points: streams that are captured into graphs.
#include "client/cuda/graph/capture.h"

#include "client/cuda/api/graph_call.h"

using namespace holdfast::libcuda;

namespace {

using GraphEdge = Edge;

template <typename Body>
CUresult WithDriver(Body body) {
  return WithProcess(body);
}

}  // namespace

#include "core/cuda/capture_calls.inc"
