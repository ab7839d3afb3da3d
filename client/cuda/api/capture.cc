// SPDX-License-Identifier: Apache-2.0
//
// Entry points: what programs ask about captures. No stream captures here:
// cuStreamBeginCapture is not served.
#include <utility>

#include "client/cuda/call.h"

using namespace holdfast::libcuda;

namespace {

thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

}  // namespace

extern "C" {

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return WithStream(handle, [&](Process&, Stream&) {
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle,
                                   CUstreamCaptureStatus* status,
                                   cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges,
                                   size_t* count) {
  return WithStream(handle, [&](Process&, Stream&) {
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (id != nullptr) *id = 0;
    if (graph != nullptr) *graph = nullptr;
    if (dependencies != nullptr) *dependencies = nullptr;
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return WithProcess([&](Process&) {
    if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::swap(*mode, capture_mode);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
