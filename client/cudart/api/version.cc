// SPDX-License-Identifier: Apache-2.0
//
// Entry points: versions, and tools beside the program.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

extern "C" {

// 0: there is no driver.
cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return Record(cudaErrorInvalidValue);
  *version = 0;
  const Driver& driver = Driver::Get(DefaultStream::kLegacy);
  if (driver.DriverGetVersion == nullptr) return cudaSuccess;
  return Record(driver.DriverGetVersion(version));
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return Record(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaProfilerStart() {
  return CallInContext(&Driver::ProfilerStart);
}

cudaError_t cudaProfilerStop() { return CallInContext(&Driver::ProfilerStop); }

// Private tables are for NVIDIA's own libraries.
cudaError_t cudaGetExportTable(const void**, const cudaUUID_t*) {
  return Record(cudaErrorNotSupported);
}

}  // extern "C"
