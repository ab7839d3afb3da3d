// SPDX-License-Identifier: Apache-2.0
#include "client/cudart/errors.h"

#include <utility>

namespace holdfast::libcudart {
namespace {

thread_local cudaError_t last = cudaSuccess;

}  // namespace

cudaError_t Translate(CUresult result) {
  const auto error = static_cast<cudaError_t>(result);
  return FindErrorName(error) == nullptr ? cudaErrorUnknown : error;
}

cudaError_t Record(cudaError_t error) {
  if (error != cudaSuccess) last = error;
  return error;
}

cudaError_t PeekLastError() { return last; }

cudaError_t TakeLastError() { return std::exchange(last, cudaSuccess); }

const char* FindErrorName(cudaError_t error) {
  switch (error) {
#define HOLDFAST_CUDA_ERROR(name, text) \
  case name:                            \
    return #name;
#include "client/cudart/errors.inc"
#undef HOLDFAST_CUDA_ERROR
  }
  return nullptr;
}

const char* FindErrorText(cudaError_t error) {
  switch (error) {
#define HOLDFAST_CUDA_ERROR(name, text) \
  case name:                            \
    return text;
#include "client/cudart/errors.inc"
#undef HOLDFAST_CUDA_ERROR
  }
  return nullptr;
}

}  // namespace holdfast::libcudart
