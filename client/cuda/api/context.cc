// SPDX-License-Identifier: Apache-2.0
//
// Entry points: primary contexts, contexts, the current context.
#include <utility>

#include "client/cuda/api/call.h"
#include "client/cuda/graph/graph_memory.h"
#include "holdfast/v1/peer_commands.pb.h"

using namespace holdfast::libcuda;
using holdfast::v1::Device;
namespace v1 = holdfast::v1;

// Functions of CUDA 12 that cuda.h no longer declares, and two that only
// cudaProfiler.h does.
extern "C" CUresult cuCtxCreate_v2(CUcontext*, unsigned, CUdevice);

namespace {

constexpr unsigned kApiVersion = 13000;

bool AreContextFlags(unsigned flags) {
  return (flags & ~CU_CTX_FLAGS_MASK) == 0;
}

CUresult CreateContext(CUcontext* context, unsigned flags, CUdevice device) {
  return WithDevice(device, [&](Process& process, const Device&) {
    if (context == nullptr || !AreContextFlags(flags)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *context = process.contexts().Create(device, flags)->handle();
    PushContext(*context);
    return CUDA_SUCCESS;
  });
}

// body(Context&) with `handle`, or with the current context if it is null.
template <typename Body>
CUresult WithNamedContext(CUcontext handle, Body body) {
  if (handle == nullptr) {
    return WithContext([&](Process&, Context& c) { return body(c); });
  }
  return WithProcess([&](Process& process) -> CUresult {
    const auto context = process.contexts().Find(handle);
    return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT
                              : Answer(body(*context));
  });
}

// body(Context& current, Context& peer).
template <typename Body>
CUresult WithPeer(CUcontext handle, Body body) {
  return WithContext([&](Process& process, Context& context) -> CUresult {
    const auto peer = process.contexts().Find(handle);
    return peer == nullptr ? CUDA_ERROR_INVALID_CONTEXT : body(context, *peer);
  });
}

// Streams that were destroyed with work in them count, too: so all streams of
// the session are waited for.
CUresult Synchronize(Context& context) {
  if (LastFault() != CUDA_SUCCESS) return LastFault();
  const CUresult captured = CheckContextCall(Process::Get(), context);
  return captured != CUDA_SUCCESS
             ? captured
             : Answer(Process::Get().session().Synchronize());
}

// CUDA_ERROR_UNSUPPORTED_LIMIT: a limit that sessions do not have.
CUresult FindLimit(CUlimit limit, v1::DeviceLimit* name) {
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      *name = v1::DEVICE_LIMIT_STACK_SIZE;
      return CUDA_SUCCESS;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      *name = v1::DEVICE_LIMIT_PRINTF_BUFFER_SIZE;
      return CUDA_SUCCESS;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      *name = v1::DEVICE_LIMIT_MALLOC_HEAP_SIZE;
      return CUDA_SUCCESS;
    case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
      *name = v1::DEVICE_LIMIT_LAUNCH_DEPTH;
      return CUDA_SUCCESS;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
      *name = v1::DEVICE_LIMIT_PENDING_LAUNCHES;
      return CUDA_SUCCESS;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      *name = v1::DEVICE_LIMIT_L2_FETCH_GRANULARITY;
      return CUDA_SUCCESS;
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
      *name = v1::DEVICE_LIMIT_PERSISTING_L2_CACHE_SIZE;
      return CUDA_SUCCESS;
    default:
      return limit < CU_LIMIT_MAX ? CUDA_ERROR_UNSUPPORTED_LIMIT
                                  : CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult GetLimit(const Context& context, CUlimit limit, size_t* value) {
  v1::DeviceLimit name = v1::DEVICE_LIMIT_UNSPECIFIED;
  const CUresult known = FindLimit(limit, &name);
  if (known != CUDA_SUCCESS) return known;
  HOLDFAST_ANSWER_OR_ASSIGN(*value, context.device().GetLimit(name));
  return CUDA_SUCCESS;
}

// Ends the context, and returns the device's memory that graphs do not need.
void End(Process& process, std::shared_ptr<Context> ended) {
  if (ended == nullptr) return;
  const int ordinal = ended->ordinal();
  process.End(std::move(ended));
  GraphMemory::Get().Trim(ordinal);
}

}  // namespace

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return WithDevice(device, [&](Process& process, const Device&) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = process.contexts().Retain(device);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return WithDevice(device, [&](Process& process, const Device&) {
    std::shared_ptr<Context> ended;
    if (!process.contexts().Release(device, &ended)) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    End(process, std::move(ended));
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return WithDevice(device, [&](Process& process, const Device&) {
    End(process, process.contexts().Reset(device));
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  return WithDevice(device, [&](Process& process, const Device&) {
    if (!AreContextFlags(flags)) return CUDA_ERROR_INVALID_VALUE;
    process.contexts().SetFlags(device, flags);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags,
                                    int* active) {
  return WithDevice(device, [&](Process& process, const Device&) {
    if (AnyNull(flags, active)) return CUDA_ERROR_INVALID_VALUE;
    *flags = process.contexts().Flags(device);
    *active = process.contexts().IsActive(device);
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
  return WithProcess([&](Process& process) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    ContextTable& contexts = process.contexts();
    if (contexts.IsPrimary(handle) || contexts.OrdinalOf(handle) < 0) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    std::shared_ptr<Context> context = contexts.Remove(handle);
    if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    End(process, std::move(context));
    CUcontext top = nullptr;
    if (CurrentContext() == handle) PopContext(&top);
    return CUDA_SUCCESS;
  });
}

// A context that has ended may become current, too; what needs it then fails.
CUresult cuCtxSetCurrent(CUcontext context) {
  return WithProcess([&](Process& process) {
    if (context != nullptr && process.contexts().OrdinalOf(context) < 0) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    SetCurrentContext(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return WithProcess([&](Process&) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = CurrentContext();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return WithProcess([&](Process& process) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (process.contexts().OrdinalOf(context) < 0) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    PushContext(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return WithProcess([&](Process&) {
    CUcontext popped = nullptr;
    if (!PopContext(&popped)) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = popped;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return WithObjects([&](Process& process) {
    const int ordinal = process.contexts().OrdinalOf(CurrentContext());
    if (ordinal < 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  return WithNamedContext(handle, [&](Context& context) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = context.ordinal();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetFlags(unsigned* flags) {
  return WithContext([&](Process&, Context& context) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = context.flags();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetFlags(unsigned flags) {
  return WithContext([&](Process&, Context& context) {
    if (!AreContextFlags(flags)) return CUDA_ERROR_INVALID_VALUE;
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
      [](Process&, Context& context) { return Synchronize(context); });
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  return WithNamedContext(handle, Synchronize);
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
  return WithPeer(handle, [&](Context& context, Context& peer) -> CUresult {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (peer.ordinal() == context.ordinal()) {
      return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    }
    HOLDFAST_ANSWER_IF_ERROR(context.device().EnablePeerAccess(peer.device()));
    return context.EnablePeer(peer);
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
  return WithPeer(handle, [](Context& context, Context& peer) -> CUresult {
    const CUresult known = context.DisablePeer(peer);
    return known != CUDA_SUCCESS
               ? known
               : Answer(context.device().DisablePeerAccess(peer.device()));
  });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return WithContext([&](Process&, Context& context) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : GetLimit(context, limit, value);
  });
}

// A device of the session has one set of limits, which its contexts share.
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return WithContext([&](Process& process, Context& context) -> CUresult {
    v1::DeviceLimit name = v1::DEVICE_LIMIT_UNSPECIFIED;
    const CUresult known = FindLimit(limit, &name);
    if (known != CUDA_SUCCESS) return known;
    HOLDFAST_ANSWER_IF_ERROR(context.device().SetLimit(name, value));
    return Answer(process.AwaitCommands());
  });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return WithContext([&](Process&, Context&) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *config = CU_FUNC_CACHE_PREFER_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return WithContext([&](Process&, Context&) {
    using Attributes = holdfast::cuda::StreamAttributes;
    if (least != nullptr) *least = Attributes::kLeastPriority;
    if (greatest != nullptr) *greatest = Attributes::kGreatestPriority;
    return CUDA_SUCCESS;
  });
}

// Hints, which change no result: they are taken and go no further.
CUresult cuCtxSetCacheConfig(CUfunc_cache) {
  return WithContext([](Process&, Context&) { return CUDA_SUCCESS; });
}

CUresult cuCtxResetPersistingL2Cache() {
  return WithContext([](Process&, Context&) { return CUDA_SUCCESS; });
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  return WithContext([&](Process&, Context&) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *config = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig) {
  return WithContext([](Process&, Context&) { return CUDA_SUCCESS; });
}

CUresult cuProfilerStart() {
  return WithContext([](Process&, Context&) { return CUDA_SUCCESS; });
}

CUresult cuProfilerStop() {
  return WithContext([](Process&, Context&) { return CUDA_SUCCESS; });
}

}  // extern "C"
