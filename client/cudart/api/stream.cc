// SPDX-License-Identifier: Apache-2.0
//
// Entry points: the life of streams.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return CallInContext(&Driver::StreamCreate, stream, 0u);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return CallInContext(&Driver::StreamCreate, stream, flags);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags,
                                         int priority) {
  return CallInContext(&Driver::StreamCreateWithPriority, stream, flags,
                       priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return CallInContext(&Driver::StreamDestroy, stream);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return CallInContext(&Driver::ThreadExchangeStreamCaptureMode,
                       As<CUstreamCaptureMode>(mode));
}

}  // extern "C"
