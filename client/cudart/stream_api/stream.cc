// SPDX-License-Identifier: Apache-2.0
//
// Entry points: streams.
#include <memory>

#include "client/cudart/call.h"

using namespace holdfast::libcudart;

namespace {

// A program's callback, which takes the runtime's errors.
struct Callback {
  cudaStream_t stream;
  cudaStreamCallback_t function;
  void* data;
};

void Run(CUstream, CUresult result, void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  callback->function(callback->stream, Translate(result), callback->data);
}

}  // namespace

extern "C" {

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return CallInContext(&Driver::StreamQuery, stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return CallInContext(&Driver::StreamSynchronize, stream);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return CallInContext(&Driver::StreamGetPriority, stream, priority);
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return CallInContext(&Driver::StreamGetFlags, stream, flags);
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return CallInContext(&Driver::StreamGetId, stream, id);
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return CallInContext(&Driver::StreamGetDevice, stream, device);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags) {
  return CallInContext(&Driver::StreamWaitEvent, stream, event, flags);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream,
                                  cudaStreamCallback_t function, void* data,
                                  unsigned flags) {
  if (function == nullptr || flags != 0) return Record(cudaErrorInvalidValue);
  return WithContext([&](const Driver& driver) {
    auto callback =
        std::make_unique<Callback>(Callback{stream, function, data});
    const CUresult result =
        driver.StreamAddCallback(stream, &Run, callback.get(), 0);
    if (result == CUDA_SUCCESS) callback.release();
    return result;
  });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer,
                                     size_t size, unsigned flags) {
  return CallInContext(&Driver::StreamAttachMemAsync, stream, Address(pointer),
                       size, flags);
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return CallInContext(&Driver::StreamCopyAttributes, to, from);
}

cudaError_t cudaStreamGetAttribute(cudaStream_t stream,
                                   cudaLaunchAttributeID attribute,
                                   cudaLaunchAttributeValue* value) {
  return CallInContext(&Driver::StreamGetAttribute, stream,
                       static_cast<CUstreamAttrID>(attribute),
                       As<CUstreamAttrValue>(value));
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream,
                                   cudaLaunchAttributeID attribute,
                                   const cudaLaunchAttributeValue* value) {
  return CallInContext(&Driver::StreamSetAttribute, stream,
                       static_cast<CUstreamAttrID>(attribute),
                       As<const CUstreamAttrValue>(value));
}

}  // extern "C"
