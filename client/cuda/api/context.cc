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

template <typename Body>
CUresult WithDriver(Body body) {
  return WithProcess(body);
}

template <typename Body>
CUresult WithOrdinal(CUdevice device, Body body) {
  return WithDevice(
      device, [&](Process& process, const Device&) { return body(process); });
}

CUresult CreateContext(CUcontext* context, unsigned flags, CUdevice device) {
  return WithDevice(device, [&](Process& process, const Device&) {
    if (context == nullptr || !holdfast::cuda::AreContextFlags(flags)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *context = process.contexts().Create(device, flags)->handle();
    PushContext(*context);
    return CUDA_SUCCESS;
  });
}

// Streams that were destroyed with work in them count, too: so all streams of
// the session are waited for.
CUresult Synchronize(Context& context) {
  if (const CUresult fault = CheckNoFault(); fault != CUDA_SUCCESS) {
    return fault;
  }
  const CUresult captured = CheckContextCall(Process::Get(), context);
  return captured != CUDA_SUCCESS
             ? captured
             : Answer(Process::Get().connection().session().Synchronize());
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

#include "core/cuda/context_calls.inc"

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return WithDevice(device, [&](Process& process, const Device&) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = process.contexts().Retain(device);
    return CUDA_SUCCESS;
  });
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
    return Answer(process.connection().AwaitCommands());
  });
}

// Hints, which change no result: they are taken and go no further.
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
