// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/graph_edges.h"

namespace holdfast::cuda {

bool IsPlain(const CUgraphEdgeData& data) {
  return data.from_port == 0 && data.to_port == 0 && data.type == 0;
}

CUresult DeliverNodes(const std::vector<CUgraphNode>& nodes, CUgraphNode* place,
                      size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Deliver(nodes, place, *count);
  *count = place == nullptr ? nodes.size() : std::min(*count, nodes.size());
  return CUDA_SUCCESS;
}

}  // namespace holdfast::cuda
