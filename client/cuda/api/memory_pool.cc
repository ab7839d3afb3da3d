// SPDX-License-Identifier: Apache-2.0
//
// Entry points: memory in the order of streams, and pools.
#include "client/cuda/memory_pool.h"

#include <utility>

#include "client/cuda/allocate.h"
#include "client/cuda/api/call.h"
#include "client/cuda/graph/graph_memory.h"
#include "client/cuda/graph/work.h"

using namespace holdfast::libcuda;

namespace {

// body(std::shared_ptr<MemoryPool>). CUDA_ERROR_INVALID_VALUE: no live pool.
template <typename Body>
CUresult WithPool(CUmemoryPool handle, Body body) {
  return WithObjects([&](Process& process) -> CUresult {
    auto pool = process.pools.Find(handle);
    return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : body(std::move(pool));
  });
}

CUresult CaptureAllocation(Process& process, Stream& stream, size_t size,
                           CUdeviceptr* pointer, NodeWork* work) {
  const std::shared_ptr<Context> context = stream.context();
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  CUDA_MEM_ALLOC_NODE_PARAMS p{};
  p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, context->ordinal()};
  p.bytesize = size;
  const CUresult result = ReadAllocation(process, &p, work);
  if (result == CUDA_SUCCESS) *pointer = p.dptr;
  return result;
}

// Memory of a graph stays where it is; a launch may have it again.
CUresult FreeInOrder(Process& process, const Stream& stream,
                     CUdeviceptr pointer) {
  if (const auto of_graph = GraphMemory::Get().Find(pointer)) {
    return GraphMemory::Get().Free(*of_graph);
  }
  const auto freed =
      process.memory.Remove(pointer, [](const Allocation& memory) {
        return IsFreeable(memory) && !memory.is_managed;
      });
  if (freed == nullptr) return CUDA_ERROR_INVALID_VALUE;
  freed->buffer->Free(stream.queue());
  return CUDA_SUCCESS;
}

CUresult Allocate(CUdeviceptr* pointer, size_t size,
                  std::shared_ptr<MemoryPool> pool, CUstream handle) {
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return WithWork(
      handle,
      [&](Process& process, Stream& stream, NodeWork* work) {
        return CaptureAllocation(process, stream, size, pointer, work);
      },
      [&](Process& process, Stream& stream) -> CUresult {
        const std::shared_ptr<Context> context = stream.context();
        if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (pool == nullptr) {
          pool = process.pools.Find(process.CurrentPool(context->ordinal()));
        }
        return AllocateDevice(process, *context, {&stream.queue(), pool}, size,
                              pointer);
      });
}

CUresult GetPool(CUmemoryPool* pool, CUdevice device, bool is_default) {
  return WithDevice(device, [&](Process& process, const auto&) {
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pool =
        is_default ? process.DefaultPool(device) : process.CurrentPool(device);
    return CUDA_SUCCESS;
  });
}

bool IsPlain(const CUmemPoolProps& properties) {
  return properties.allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
         properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

}  // namespace

extern "C" {

CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t size, CUstream stream) {
  return Allocate(pointer, size, nullptr, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t size,
                                 CUmemoryPool handle, CUstream stream) {
  return WithPool(handle, [&](std::shared_ptr<MemoryPool> pool) {
    return Allocate(pointer, size, std::move(pool), stream);
  });
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream handle) {
  return WithWork(
      handle,
      [&](Process&, Stream&, NodeWork* work) -> CUresult {
        if (pointer != 0) return ReadFree(pointer, work);
        *work = EmptyWork{};
        return CUDA_SUCCESS;
      },
      [&](Process& process, Stream& stream) {
        return pointer == 0 ? CUDA_SUCCESS
                            : FreeInOrder(process, stream, pointer);
      });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  return WithObjects([&](Process& process) {
    if (AnyNull(pool, properties)) return CUDA_ERROR_INVALID_VALUE;
    if (!IsPlain(*properties) ||
        properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    const int ordinal = properties->location.id;
    if (ordinal < 0 ||
        static_cast<size_t>(ordinal) >= process.devices().size()) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    *pool = process.pools.Add(std::make_shared<MemoryPool>(ordinal));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return WithObjects([&](Process& process) {
    if (process.IsDefaultPool(pool) || process.pools.Remove(pool) == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

// A pool reserves nothing that it does not use.
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  return WithPool(pool, [](auto) { return CUDA_SUCCESS; });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle,
                               CUmemPool_attribute attribute, void* value) {
  return WithPool(handle, [&](const std::shared_ptr<MemoryPool>& pool) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : pool->Get(attribute, value);
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle,
                               CUmemPool_attribute attribute, void* value) {
  return WithPool(handle, [&](const std::shared_ptr<MemoryPool>& pool) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : pool->Set(attribute, value);
  });
}

// Memory of a session is open to all of its devices that have peer access.
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* accesses,
                            size_t count) {
  return WithPool(pool, [&](auto) {
    return accesses == nullptr && count > 0 ? CUDA_ERROR_INVALID_VALUE
                                            : CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return GetPool(pool, device, /*is_default=*/true);
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return GetPool(pool, device, /*is_default=*/false);
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
  return WithDevice(device, [&](Process& process, const auto&) {
    const auto pool = process.pools.Find(handle);
    if (pool == nullptr || pool->ordinal() != device) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    process.SetCurrentPool(device, handle);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
