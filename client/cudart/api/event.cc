// SPDX-License-Identifier: Apache-2.0
//
// Entry points: events.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

extern "C" {

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return CallInContext(&Driver::EventCreate, event, 0u);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return CallInContext(&Driver::EventCreate, event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return CallInContext(&Driver::EventDestroy, event);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return CallInContext(&Driver::EventQuery, event);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return CallInContext(&Driver::EventSynchronize, event);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start,
                                 cudaEvent_t end) {
  return CallInContext(&Driver::EventElapsedTime, milliseconds, start, end);
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle,
                                  cudaEvent_t event) {
  return CallInContext(&Driver::IpcGetEventHandle, As<CUipcEventHandle>(handle),
                       event);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event,
                                   cudaIpcEventHandle_t handle) {
  return CallInContext(&Driver::IpcOpenEventHandle, event,
                       *As<CUipcEventHandle>(&handle));
}

}  // extern "C"
