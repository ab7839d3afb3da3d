// SPDX-License-Identifier: Apache-2.0
//
// Entry points: memory and events of other processes. Each waits for the
// daemon.
#include "client/cuda/ipc.h"

#include "client/cuda/api/call.h"

using namespace holdfast::libcuda;

extern "C" {

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
  return WithContext([&](Process& process, Context&) {
    return Ipc::Get().GetMemory(process, pointer, handle);
  });
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle handle,
                               unsigned flags) {
  return WithContext([&](Process& process, Context& context) {
    if (pointer == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult unsafe = CheckUnsafeCall(process);
    return unsafe != CUDA_SUCCESS
               ? unsafe
               : Ipc::Get().OpenMemory(process, context, handle, pointer);
  });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
  return WithObjects([&](Process& process) {
    return Ipc::Get().CloseMemory(process, pointer);
  });
}

CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
  return WithObjects([&](Process& process) {
    const auto found = process.events.Find(event);
    return found == nullptr ? ErrorOfMissing(process, CUDA_ERROR_INVALID_HANDLE)
                            : Ipc::Get().GetEvent(process, found, handle);
  });
}

CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle handle) {
  return WithContext([&](Process& process, Context& context) {
    return event == nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : Ipc::Get().OpenEvent(process, context, handle, event);
  });
}

}  // extern "C"
