// SPDX-License-Identifier: Apache-2.0
//
// Declares the old versions of functions that CUDA later changed. Programs may
// look these symbols up with dlsym. cuda.h maps each unversioned name to its
// latest version; this header removes those macros, so that the name means the
// first version, as in libcuda.so.1. graph_versions.h does the same for
// functions of graphs.
#ifndef HOLDFAST_CORE_CUDA_FIRST_FORMS_H_
#define HOLDFAST_CORE_CUDA_FIRST_FORMS_H_

#include "cuda.h"

#undef cuCtxCreate
#undef cuCtxDestroy
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuDeviceGetUuid
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuDevicePrimaryCtxSetFlags
#undef cuEventDestroy
#undef cuEventElapsedTime
#undef cuGetProcAddress
#undef cuIpcOpenMemHandle
#undef cuLinkCreate
#undef cuLinkAddData
#undef cuLinkAddFile
#undef cuMemAdvise
#undef cuMemAllocHost
#undef cuMemHostRegister
#undef cuMemPrefetchAsync
#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync
#undef cuStreamDestroy
#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuStreamWriteValue32
#undef cuStreamWriteValue64
#undef cuStreamBatchMemOp

extern "C" {

// Contexts. The third version takes affinities, which CUDA 12.5 moved to a
// struct.
CUresult cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device);
CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device);
CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinities,
                        int count, unsigned flags, CUdevice device);
CUresult cuCtxDestroy(CUcontext context);
CUresult cuCtxPushCurrent(CUcontext context);
CUresult cuCtxPopCurrent(CUcontext* context);
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuDevicePrimaryCtxReset(CUdevice device);
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags);

CUresult cuEventDestroy(CUevent event);
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);
CUresult cuStreamDestroy(CUstream stream);

// The first version has no argument for the result of the query. It returns
// CUDA_ERROR_NOT_FOUND if there is no such function.
CUresult cuGetProcAddress(const char* name, void** function, int version,
                          cuuint64_t flags);

CUresult cuIpcOpenMemHandle(CUdeviceptr* pointer, CUipcMemHandle handle,
                            unsigned flags);
CUresult cuLinkCreate(unsigned count, CUjit_option* options, void** values,
                      CUlinkState* state);
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data,
                       size_t size, const char* name, unsigned count,
                       CUjit_option* options, void** values);
CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path,
                       unsigned count, CUjit_option* options, void** values);

// The first versions take a device instead of a CUmemLocation; CU_DEVICE_CPU is
// the host.
CUresult cuMemAdvise(CUdeviceptr pointer, size_t size, CUmem_advise advice,
                     CUdevice device);
CUresult cuMemPrefetchAsync(CUdeviceptr pointer, size_t size, CUdevice device,
                            CUstream stream);
CUresult cuMemAllocHost(void** pointer, unsigned size);
CUresult cuMemHostRegister(void* pointer, size_t size, unsigned flags);

// The first versions set *failed to the index of an invalid copy.
CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes,
                            size_t count, CUmemcpyAttributes* attributes,
                            size_t* attribute_indices, size_t attribute_count,
                            size_t* failed, CUstream stream);
CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP* copies,
                              size_t* failed, unsigned long long flags,
                              CUstream stream);

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address,
                             cuuint32_t value, unsigned flags);
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address,
                             cuuint64_t value, unsigned flags);
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address,
                              cuuint32_t value, unsigned flags);
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address,
                              cuuint64_t value, unsigned flags);
CUresult cuStreamBatchMemOp(CUstream stream, unsigned count,
                            CUstreamBatchMemOpParams* operations,
                            unsigned flags);

}  // extern "C"

#endif  // HOLDFAST_CORE_CUDA_FIRST_FORMS_H_
