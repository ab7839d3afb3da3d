// SPDX-License-Identifier: Apache-2.0
//
// Entry points: primary contexts, contexts, the current context.
#include "core/software/driver/call.h"
#include "core/software/driver/defects.h"
#include "core/software/driver/graph/allocation.h"
#include "core/software/driver/graph/capture.h"

using namespace holdfast::software;

namespace {

template <typename Body>
CUresult WithOrdinal(CUdevice ordinal, Body body) {
  return WithDevice(ordinal, [&](Device&) { return body(Driver::Get()); });
}

CUresult CreateContext(CUcontext* context, unsigned flags, CUdevice device) {
  return WithDevice(device, [&](Device& found) -> CUresult {
    if (context == nullptr || !holdfast::cuda::AreContextFlags(flags)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (DefectOf(found.ordinal()) == Defect::kGone) {
      return CUDA_ERROR_DEVICE_UNAVAILABLE;
    }
    *context = Driver::Get().contexts().Create(device, flags)->handle();
    PushContext(*context);
    return CUDA_SUCCESS;
  });
}

// Ends the context and the captures that began in it, and returns the device's
// memory that graphs do not need. Null: does nothing.
void End(Driver& driver, const std::shared_ptr<Context>& context) {
  if (context == nullptr) return;
  driver.EndContext(*context);
  GraphMemory::Get().Trim(context->device());
  if (driver.graphs.capturing == 0) return;
  const DefinitionsLock lock(driver.graphs);
  AbandonCaptures(driver, context->id());
}

CUresult Synchronize(Context& context) {
  Driver& driver = Driver::Get();
  if (driver.graphs.capturing > 0) {
    const DefinitionsLock lock(driver.graphs);
    if (Invalidate(driver, context)) {
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  }
  if (LastFault() == CUDA_SUCCESS) context.Synchronize();
  return LastFault();
}

}  // namespace

#include "core/cuda/context_calls.inc"

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return WithDevice(device, [&](Device& found) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (DefectOf(found.ordinal()) == Defect::kGone) {
      return CUDA_ERROR_DEVICE_UNAVAILABLE;
    }
    *context = Driver::Get().contexts().Retain(device);
    return CUDA_SUCCESS;
  });
}

// Kernels reach all of the process's memory whatever is enabled: pages have one
// protection for all threads.
CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
  return WithPeer(handle, [&](Context& context, Context& peer) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return peer.ordinal() == context.ordinal()
               ? CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
               : context.EnablePeer(peer);
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
  return WithPeer(handle, [](Context& context, Context& peer) {
    return context.DisablePeer(peer);
  });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return WithContext([&](Driver&, Context& context) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : context.GetLimit(limit, value);
  });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return WithContext([&](Driver&, Context& context) {
    return context.SetLimit(limit, value);
  });
}

}  // extern "C"
