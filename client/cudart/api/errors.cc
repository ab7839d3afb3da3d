// SPDX-License-Identifier: Apache-2.0
//
// Entry points: errors.
#include "client/cudart/errors.h"

#include "cuda_runtime_api.h"

using namespace holdfast::libcudart;

extern "C" {

cudaError_t cudaGetLastError() { return TakeLastError(); }

cudaError_t cudaPeekAtLastError() { return PeekLastError(); }

const char* cudaGetErrorName(cudaError_t error) {
  const char* name = FindErrorName(error);
  return name == nullptr ? "unrecognized error code" : name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const char* text = FindErrorText(error);
  return text == nullptr ? "unrecognized error code" : text;
}

}  // extern "C"
