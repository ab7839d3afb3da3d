// SPDX-License-Identifier: Apache-2.0
//
// Entry points: the driver's functions, by name.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

namespace {

// `flags` may say which streams are meant; otherwise this compilation does.
cuuint64_t FormOf(unsigned long long flags) {
  if (flags != cudaEnableDefault) return flags;
  return kDefaultStream == DefaultStream::kPerThread
             ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
             : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
}

cudaError_t FindEntryPoint(const char* name, void** function, int version,
                           unsigned long long flags,
                           cudaDriverEntryPointQueryResult* status) {
  if (AnyNull(name, function)) return Record(cudaErrorInvalidValue);
  return WithDriver([&](const Driver& driver) {
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    const CUresult result =
        driver.GetProcAddress(name, function, version, FormOf(flags), &found);
    if (status != nullptr) {
      *status = static_cast<cudaDriverEntryPointQueryResult>(found);
    }
    return result;
  });
}

}  // namespace

extern "C" {

cudaError_t cudaGetDriverEntryPoint(const char* name, void** function,
                                    unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return FindEntryPoint(name, function, CUDART_VERSION, flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(
    const char* name, void** function, unsigned version,
    unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
  return FindEntryPoint(name, function, static_cast<int>(version), flags,
                        status);
}

}  // extern "C"
