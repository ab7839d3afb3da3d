// SPDX-License-Identifier: Apache-2.0
//
// Entry points: graphs in streams.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

extern "C" {

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec,
                                           cudaGraph_t graph,
                                           cudaGraphInstantiateParams* params) {
  return CallInContext(&Driver::GraphInstantiateWithParams, exec, graph,
                       As<CUDA_GRAPH_INSTANTIATE_PARAMS>(params));
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return CallInContext(&Driver::GraphUpload, exec, stream);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return CallInContext(&Driver::GraphLaunch, exec, stream);
}

}  // extern "C"
