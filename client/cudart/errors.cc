// SPDX-License-Identifier: Apache-2.0
#include "client/cudart/errors.h"

#include <atomic>

namespace holdfast::libcudart {
namespace {

// Grows with each reset.
std::atomic<unsigned> resets = 0;

struct LastError {
  cudaError_t error = cudaSuccess;
  unsigned reset = 0;  // The value of `resets` when it was recorded.
};
thread_local LastError last;

bool IsSticky(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return true;
    default:
      return false;
  }
}

}  // namespace

cudaError_t Translate(CUresult result) {
  const auto error = static_cast<cudaError_t>(result);
  return FindErrorName(error) == nullptr ? cudaErrorUnknown : error;
}

cudaError_t Record(cudaError_t error) {
  if (error != cudaSuccess) last = {.error = error, .reset = resets};
  return error;
}

cudaError_t PeekLastError() {
  if (IsSticky(last.error) && last.reset != resets) last = {};
  return last.error;
}

cudaError_t TakeLastError() {
  const cudaError_t error = PeekLastError();
  if (!IsSticky(error)) last = {};
  return error;
}

void ForgetStickyErrors() { ++resets; }

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
