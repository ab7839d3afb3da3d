// SPDX-License-Identifier: Apache-2.0
//
// Entry points: each by the form that took its name.
#include "core/cuda/first_forms.h"

#include <cstdint>

namespace {

CUmemLocation LocationOf(CUdevice device) {
  CUmemLocation location{};
  location.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST
                                          : CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device == CU_DEVICE_CPU ? 0 : device;
  return location;
}

}  // namespace

extern "C" {

CUresult cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
  return cuCtxCreate_v2(context, flags, device);
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int count,
                        unsigned flags, CUdevice device) {
  return count == 0 ? cuCtxCreate_v2(context, flags, device)
                    : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuCtxDestroy(CUcontext context) { return cuCtxDestroy_v2(context); }

CUresult cuCtxPushCurrent(CUcontext context) {
  return cuCtxPushCurrent_v2(context);
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return cuCtxPopCurrent_v2(context);
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return cuDeviceGetUuid_v2(uuid, device);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return cuDevicePrimaryCtxRelease_v2(device);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return cuDevicePrimaryCtxReset_v2(device);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }

CUresult cuIpcOpenMemHandle(CUdeviceptr* pointer, CUipcMemHandle handle,
                            unsigned flags) {
  return cuIpcOpenMemHandle_v2(pointer, handle, flags);
}

CUresult cuLinkCreate(unsigned count, CUjit_option* options, void** values,
                      CUlinkState* state) {
  return cuLinkCreate_v2(count, options, values, state);
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data,
                       size_t size, const char* name, unsigned count,
                       CUjit_option* options, void** values) {
  return cuLinkAddData_v2(state, type, data, size, name, count, options,
                          values);
}

CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path,
                       unsigned count, CUjit_option* options, void** values) {
  return cuLinkAddFile_v2(state, type, path, count, options, values);
}

CUresult cuMemAllocHost(void** pointer, unsigned size) {
  return cuMemAllocHost_v2(pointer, size);
}

CUresult cuMemHostRegister(void* pointer, size_t size, unsigned flags) {
  return cuMemHostRegister_v2(pointer, size, flags);
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address,
                             cuuint32_t value, unsigned flags) {
  return cuStreamWaitValue32_v2(stream, address, value, flags);
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address,
                             cuuint64_t value, unsigned flags) {
  return cuStreamWaitValue64_v2(stream, address, value, flags);
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address,
                              cuuint32_t value, unsigned flags) {
  return cuStreamWriteValue32_v2(stream, address, value, flags);
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address,
                              cuuint64_t value, unsigned flags) {
  return cuStreamWriteValue64_v2(stream, address, value, flags);
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned count,
                            CUstreamBatchMemOpParams* operations,
                            unsigned flags) {
  return cuStreamBatchMemOp_v2(stream, count, operations, flags);
}

CUresult cuGetProcAddress(const char* name, void** function, int version,
                          cuuint64_t flags) {
  const CUresult result =
      cuGetProcAddress_v2(name, function, version, flags, nullptr);
  return result == CUDA_SUCCESS && *function == nullptr ? CUDA_ERROR_NOT_FOUND
                                                        : result;
}

CUresult cuMemAdvise(CUdeviceptr pointer, size_t size, CUmem_advise advice,
                     CUdevice device) {
  return cuMemAdvise_v2(pointer, size, advice, LocationOf(device));
}

CUresult cuMemPrefetchAsync(CUdeviceptr pointer, size_t size, CUdevice device,
                            CUstream stream) {
  return cuMemPrefetchAsync_v2(pointer, size, LocationOf(device), 0, stream);
}

CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes,
                            size_t count, CUmemcpyAttributes* attributes,
                            size_t* attribute_indices, size_t attribute_count,
                            size_t* failed, CUstream stream) {
  // SIZE_MAX: the error is of no one copy.
  if (failed != nullptr) *failed = SIZE_MAX;
  return cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes,
                               attribute_indices, attribute_count, stream);
}

CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP* copies,
                              size_t* failed, unsigned long long flags,
                              CUstream stream) {
  if (failed != nullptr) *failed = SIZE_MAX;
  return cuMemcpy3DBatchAsync_v2(count, copies, flags, stream);
}

}  // extern "C"
