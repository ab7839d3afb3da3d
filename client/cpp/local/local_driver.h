// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_DRIVER_H_
#define HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_DRIVER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda.h"

namespace holdfast {

// The calls of this process's own CUDA driver for mapping memory, importing
// local memory and pairing streams. The library stays open until the process
// ends. The client library makes no other driver calls, and loads no driver
// without a LocalMapping, ImportLocal or PairStream.
#define HOLDFAST_LOCAL_DRIVER_CALLS(X)                              \
  X(cuInit, cuInit)                                                 \
  X(cuGetErrorName, cuGetErrorName)                                 \
  X(cuDeviceGet, cuDeviceGet)                                       \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)             \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)        \
  X(cuCtxPushCurrent, cuCtxPushCurrent_v2)                          \
  X(cuCtxPopCurrent, cuCtxPopCurrent_v2)                            \
  X(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle) \
  X(cuMemRelease, cuMemRelease)                                     \
  X(cuMemAddressReserve, cuMemAddressReserve)                       \
  X(cuMemAddressFree, cuMemAddressFree)                             \
  X(cuMemMap, cuMemMap)                                             \
  X(cuMemUnmap, cuMemUnmap)                                         \
  X(cuMemSetAccess, cuMemSetAccess)                                 \
  X(cuMemGetAddressRange, cuMemGetAddressRange_v2)                  \
  X(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle)       \
  X(cuMemExportToShareableHandle, cuMemExportToShareableHandle)     \
  X(cuIpcGetMemHandle, cuIpcGetMemHandle)                           \
  X(cuEventCreate, cuEventCreate)                                   \
  X(cuEventDestroy, cuEventDestroy_v2)                              \
  X(cuEventRecord, cuEventRecord)                                   \
  X(cuEventSynchronize, cuEventSynchronize)                         \
  X(cuStreamCreate, cuStreamCreate)                                 \
  X(cuStreamDestroy, cuStreamDestroy_v2)                            \
  X(cuStreamSynchronize, cuStreamSynchronize)                       \
  X(cuStreamWaitValue64, cuStreamWaitValue64_v2)                    \
  X(cuStreamWriteValue64, cuStreamWriteValue64_v2)

// Function pointers, not null after Load. A value type.
struct LocalDriver {
#define HOLDFAST_LOCAL_DRIVER_MEMBER(name, symbol) \
  decltype(&::symbol) name = nullptr;
  HOLDFAST_LOCAL_DRIVER_CALLS(HOLDFAST_LOCAL_DRIVER_MEMBER)
#undef HOLDFAST_LOCAL_DRIVER_MEMBER

  // Opens `library`, a name for dlopen, and calls cuInit; empty: libcuda.so.1.
  // UNAVAILABLE: the driver's error, or the name of a missing call.
  static absl::StatusOr<LocalDriver> Load(const std::string& library);

  // Returns OK, or UNAVAILABLE with the call and CUDA's name of the result.
  absl::Status Check(CUresult result, const char* call) const;
  // Check of cuMemImportFromShareableHandle, which Holdfast's own libcuda.so.1
  // refuses.
  absl::Status CheckImport(CUresult result) const;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_DRIVER_H_
