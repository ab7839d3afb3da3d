// SPDX-License-Identifier: Apache-2.0
//
// Entry points: what a GPU can be told, and a CPU has nothing to do for. Each
// checks what CUDA checks.
#include "core/cuda/private_tables.h"
#include "core/software/driver/call.h"

// Deprecated is not gone.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace holdfast::software;

namespace {

bool IsConfig(CUsharedconfig config) {
  return config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
         config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE;
}

}  // namespace

extern "C" {

CUresult cuProfilerStart() {
  return WithContext([](Driver&, Context&) { return CUDA_SUCCESS; });
}

CUresult cuProfilerStop() {
  return WithContext([](Driver&, Context&) { return CUDA_SUCCESS; });
}

// As of every GPU since compute capability 5.0, banks have four bytes.
CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  return WithContext([&](Driver&, Context&) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  return WithContext([&](Driver&, Context&) {
    return IsConfig(config) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config) {
  return WithObjects([&](Driver& driver) {
    if (driver.code.FindKernel(function) == nullptr) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    return IsConfig(config) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuCtxResetPersistingL2Cache() {
  return WithContext([](Driver&, Context&) { return CUDA_SUCCESS; });
}

// Which stream uses managed memory makes no difference: host and kernels may
// use it at any time.
CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr pointer,
                                size_t length, unsigned flags) {
  return WithStream(handle, [&](Driver& driver, Stream&) -> CUresult {
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
        flags != CU_MEM_ATTACH_SINGLE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::optional<Region> region = driver.memory.Find(pointer);
    if (!region.has_value() || region->kind != MemoryKind::kManaged ||
        length > region->size - (pointer - region->address)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  holdfast::cuda::SayPrivateTablesAreMissing(__builtin_return_address(0));
  return CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"
