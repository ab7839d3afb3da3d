// SPDX-License-Identifier: Apache-2.0
//
// Entry points: primary contexts, contexts, the current context.
#include "core/cuda/stream_attributes.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/call.h"
#include "core/software/driver/defects.h"
#include "core/software/driver/graph/allocation.h"
#include "core/software/driver/graph/capture.h"

using namespace holdfast::software;

namespace {

constexpr unsigned kApiVersion = 13000;

CUresult CreateContext(CUcontext* context, unsigned flags, CUdevice device) {
  return WithDevice(device, [&](Device& found) -> CUresult {
    if (context == nullptr || (flags & ~CU_CTX_FLAGS_MASK) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (DefectOf(found.ordinal()) == Defect::kGone) {
      return CUDA_ERROR_DEVICE_UNAVAILABLE;
    }
    *context = Driver::Get().CreateContext(found, flags)->handle();
    PushCurrent(*context);
    return CUDA_SUCCESS;
  });
}

// body(Context&) with `handle`, or with the current context if it is null.
template <typename Body>
CUresult WithNamedContext(CUcontext handle, Body body) {
  if (handle == nullptr) {
    return WithContext([&](Driver&, Context& c) { return body(c); });
  }
  return WithDriver([&](Driver&) -> CUresult {
    const std::shared_ptr<Context> context = FindContext(handle);
    return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : body(*context);
  });
}

// body(Context& current, Context& peer).
template <typename Body>
CUresult WithPeer(CUcontext handle, Body body) {
  return WithContext([&](Driver&, Context& context) -> CUresult {
    const std::shared_ptr<Context> peer = FindContext(handle);
    return peer == nullptr ? CUDA_ERROR_INVALID_CONTEXT : body(context, *peer);
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

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return WithDevice(device, [&](Device& found) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (DefectOf(found.ordinal()) == Defect::kGone) {
      return CUDA_ERROR_DEVICE_UNAVAILABLE;
    }
    *context = Driver::Get().RetainPrimary(found);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return WithDevice(device, [](Device& found) {
    std::shared_ptr<Context> ended;
    const CUresult result = Driver::Get().ReleasePrimary(found, &ended);
    End(Driver::Get(), ended);
    return result;
  });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return WithDevice(device, [](Device& found) {
    End(Driver::Get(), Driver::Get().ResetPrimary(found));
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  return WithDevice(device, [&](Device& found) {
    return Driver::Get().SetPrimaryFlags(found, flags);
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags,
                                    int* active) {
  return WithDevice(device, [&](Device& found) {
    if (AnyNull(flags, active)) return CUDA_ERROR_INVALID_VALUE;
    *flags = Driver::Get().PrimaryFlags(found);
    *active = Driver::Get().PrimaryActive(found);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return CreateContext(context, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters,
                        unsigned flags, CUdevice device) {
  const bool plain =
      parameters == nullptr || (parameters->numExecAffinityParams == 0 &&
                                parameters->cigParams == nullptr);
  return plain ? CreateContext(context, flags, device)
               : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
  return WithDriver([&](Driver& driver) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (driver.IsPrimary(handle) || driver.DeviceOf(handle) == nullptr) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    const std::shared_ptr<Context> context = driver.contexts.Remove(handle);
    if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    End(driver, context);
    CUcontext top = nullptr;
    if (CurrentHandle() == handle) PopCurrent(&top);
    return CUDA_SUCCESS;
  });
}

// A context that has ended may become current, too; what needs it then fails.
CUresult cuCtxSetCurrent(CUcontext context) {
  return WithDriver([&](Driver& driver) {
    if (context != nullptr && driver.DeviceOf(context) == nullptr) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    SetCurrent(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return WithDriver([&](Driver&) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = CurrentHandle();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return WithDriver([&](Driver& driver) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (driver.DeviceOf(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    PushCurrent(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return WithDriver([&](Driver&) {
    CUcontext popped = nullptr;
    if (!PopCurrent(&popped)) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = popped;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return WithObjects([&](Driver& driver) {
    const Device* const found = driver.DeviceOf(CurrentHandle());
    if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = found->ordinal();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  return WithNamedContext(handle, [&](Context& context) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = context.device().ordinal();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetFlags(unsigned* flags) {
  return WithContext([&](Driver&, Context& context) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = context.flags();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetFlags(unsigned flags) {
  return WithContext([&](Driver&, Context& context) {
    if ((flags & ~CU_CTX_FLAGS_MASK) != 0) return CUDA_ERROR_INVALID_VALUE;
    context.flags() = flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  return WithNamedContext(handle, [&](Context& context) {
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *id = context.id();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
  return WithNamedContext(handle, [&](Context&) {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *version = kApiVersion;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() {
  return WithContext(
      [](Driver&, Context& context) { return Synchronize(context); });
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  return WithNamedContext(handle, Synchronize);
}

// Kernels reach all of the process's memory whatever is enabled: pages have one
// protection for all threads.
CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
  return WithPeer(handle, [&](Context& context, Context& peer) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return &peer.device() == &context.device()
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

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return WithContext([&](Driver&, Context&) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *config = CU_FUNC_CACHE_PREFER_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCacheConfig(CUfunc_cache) {
  // A hint about a cache that there is no choice about.
  return WithContext([](Driver&, Context&) { return CUDA_SUCCESS; });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return WithContext([&](Driver&, Context&) {
    using Attributes = holdfast::cuda::StreamAttributes;
    if (least != nullptr) *least = Attributes::kLeastPriority;
    if (greatest != nullptr) *greatest = Attributes::kGreatestPriority;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
