// SPDX-License-Identifier: Apache-2.0
//
// Entry points: memory in the order of streams, and pools.
#include "client/cuda/memory_pool.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/cuda/allocate.h"
#include "client/cuda/api/call.h"
#include "client/cuda/graph/graph_memory.h"
#include "client/cuda/graph/work.h"
#include "client/cuda/ipc.h"
#include "client/cuda/token_descriptor.h"
#include "core/base/token.h"
#include "core/cuda/allocation_properties.h"
#include "core/cuda/pool_kind.h"

using namespace holdfast::libcuda;

namespace {

using Kind = MemoryPool::Kind;

// body(std::shared_ptr<MemoryPool>). CUDA_ERROR_INVALID_VALUE: no live pool.
template <typename Body>
CUresult WithPool(CUmemoryPool handle, Body body) {
  return WithObjects([&](Process& process) -> CUresult {
    auto pool = process.pools().Find(handle);
    return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : body(std::move(pool));
  });
}

CUresult CaptureAllocation(Process& process, Stream& stream, Kind kind,
                           size_t size, CUdeviceptr* pointer, NodeWork* work) {
  const std::shared_ptr<Context> context = stream.context();
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  CUDA_MEM_ALLOC_NODE_PARAMS p{};
  p.poolProps.allocType = kind == Kind::kManaged
                              ? CU_MEM_ALLOCATION_TYPE_MANAGED
                              : CU_MEM_ALLOCATION_TYPE_PINNED;
  p.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, context->ordinal()};
  if (kind == Kind::kHost)
    p.poolProps.location = {CU_MEM_LOCATION_TYPE_HOST, 0};
  p.bytesize = size;
  const CUresult result = ReadAllocation(process, &p, work);
  if (result == CUDA_SUCCESS) *pointer = p.dptr;
  return result;
}

// Ends memory once the stream has come to this point.
CUresult EndInOrder(Stream& stream, std::shared_ptr<Allocation> memory) {
  if (memory->buffer.has_value()) {
    memory->buffer->Free(stream.queue());
    return CUDA_SUCCESS;
  }
  // The session's memory map has no order of streams, so that this process
  // keeps pinned memory until then.
  return Answer(stream.Call([memory](const absl::Status&) {}));
}

// Memory of a graph stays where it is; a launch may have it again.
CUresult FreeInOrder(Process& process, Stream& stream, CUdeviceptr pointer) {
  if (const auto of_graph = GraphMemory::Get().Find(pointer)) {
    const CUresult result = GraphMemory::Get().Free(*of_graph);
    return result == CUDA_SUCCESS && of_graph->is_pinned()
               ? Answer(stream.Call([of_graph](const absl::Status&) {}))
               : result;
  }
  const auto memory = process.memory.Find(pointer);
  if (memory != nullptr && memory->is_pool_import()) {
    std::shared_ptr<Allocation> ended;
    const CUresult result = Ipc::Get().FreePoolMemory(process, pointer, &ended);
    return ended == nullptr ? result : EndInOrder(stream, std::move(ended));
  }
  const auto freed =
      process.memory.Remove(pointer, [](const Allocation& memory) {
        return IsFreeable(memory) &&
               (!memory.is_managed || memory.pool != nullptr);
      });
  return freed == nullptr ? CUDA_ERROR_INVALID_VALUE
                          : EndInOrder(stream, freed);
}

// No bytes in a stream's order are no error, other than for cuMemAlloc.
CUresult AllocateNothing(CUdeviceptr* pointer, NodeWork* work) {
  *pointer = 0;
  if (work != nullptr) *work = EmptyWork{};
  return CUDA_SUCCESS;
}

CUresult Allocate(CUdeviceptr* pointer, size_t size,
                  std::shared_ptr<MemoryPool> pool, CUstream handle) {
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (pool != nullptr && pool->sharing().is_imported) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return WithWork(
      handle,
      [&](Process& process, Stream& stream, NodeWork* work) -> CUresult {
        if (size == 0) return AllocateNothing(pointer, work);
        const Kind kind = pool == nullptr ? Kind::kDevice : pool->kind();
        return CaptureAllocation(process, stream, kind, size, pointer, work);
      },
      [&](Process& process, Stream& stream) -> CUresult {
        const std::shared_ptr<Context> context = stream.context();
        if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (size == 0) return AllocateNothing(pointer, /*work=*/nullptr);
        if (pool == nullptr) {
          pool = process.pools().Find(
              process.pools().Current(Kind::kDevice, context->ordinal()));
        } else if (pool->kind() != Kind::kDevice) {
          // It is there at once, and freed in the order of a stream.
          return AllocateShared(process, *context, pool,
                                pool->kind() == Kind::kManaged, size, pointer);
        }
        return AllocateDevice(process, *context, {&stream.queue(), pool}, size,
                              pointer);
      });
}

CUresult GetPool(CUmemoryPool* pool, CUdevice device, bool is_default) {
  return WithDevice(device, [&](Process& process, const auto&) {
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pool = is_default ? process.pools().Default(Kind::kDevice, device)
                       : process.pools().Current(Kind::kDevice, device);
    return CUDA_SUCCESS;
  });
}

bool IsDevice(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE && location.id >= 0 &&
         static_cast<size_t>(location.id) <
             Process::Get().connection().devices().size();
}

bool IsHost(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_HOST ||
         location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

// body(kind, ordinal) for pools of memory of this type in this place.
// CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_DEVICE: there are none.
template <typename Body>
CUresult WithKind(CUmemAllocationType type, const CUmemLocation& location,
                  Body body) {
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE && !IsDevice(location)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  const auto devices =
      static_cast<int>(Process::Get().connection().devices().size());
  const auto kind = holdfast::cuda::PoolKindOf(type, location, devices);
  if (!kind.has_value()) return CUDA_ERROR_INVALID_VALUE;
  return body(*kind, *kind == Kind::kDevice ? location.id : 0);
}

CUresult GetPool(CUmemoryPool* pool, const CUmemLocation* location,
                 CUmemAllocationType type, bool is_default) {
  return WithObjects([&](Process& process) {
    if (AnyNull(pool, location)) return CUDA_ERROR_INVALID_VALUE;
    return WithKind(type, *location, [&](Kind kind, int ordinal) {
      *pool = is_default ? process.pools().Default(kind, ordinal)
                         : process.pools().Current(kind, ordinal);
      return CUDA_SUCCESS;
    });
  });
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
    const bool is_shared =
        properties->handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const CUresult types =
        holdfast::cuda::CheckHandleTypes(properties->handleTypes);
    if (types != CUDA_SUCCESS) return types;
    // As CUDA's driver, which has another code for the default pool.
    const CUmemLocation& location = properties->location;
    if (location.type == CU_MEM_LOCATION_TYPE_DEVICE && !IsDevice(location)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return WithKind(
        properties->allocType, properties->location,
        [&](Kind kind, int ordinal) -> CUresult {
          if (is_shared && kind == Kind::kManaged) {
            return CUDA_ERROR_NOT_SUPPORTED;
          }
          PoolSharing sharing;
          if (is_shared) {
            HOLDFAST_ANSWER_OR_ASSIGN(sharing.name,
                                      holdfast::RandomToken(kTokenBytes));
          }
          if (is_shared && kind == Kind::kHost) {
            sharing.pinned =
                std::make_unique<PinnedMemory>(process.connection().session());
          }
          *pool = process.pools().Add(std::make_shared<MemoryPool>(
              kind, ordinal, properties->maxSize, std::move(sharing)));
          return CUDA_SUCCESS;
        });
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return WithObjects([&](Process& process) {
    return process.pools().Remove(pool) ? CUDA_SUCCESS
                                        : CUDA_ERROR_INVALID_VALUE;
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

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle,
                            CUmemLocation* location) {
  return WithPool(handle, [&](const std::shared_ptr<MemoryPool>& pool) {
    if (AnyNull(flags, location)) return CUDA_ERROR_INVALID_VALUE;
    bool has_access = pool->kind() == Kind::kHost;
    if (!IsHost(*location)) {
      if (!IsDevice(*location)) return CUDA_ERROR_INVALID_VALUE;
      has_access = pool->HasAccess(location->id);
    }
    *flags = has_access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                        : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle,
                            const CUmemAccessDesc* accesses, size_t count) {
  return WithPool(handle, [&](const std::shared_ptr<MemoryPool>& pool) {
    if (accesses == nullptr && count > 0) return CUDA_ERROR_INVALID_VALUE;
    const absl::Span<const CUmemAccessDesc> all(accesses, count);
    for (const CUmemAccessDesc& access : all) {
      if (!IsDevice(access.location)) return CUDA_ERROR_INVALID_DEVICE;
      const bool is_own = pool->kind() == Kind::kDevice &&
                          pool->ordinal() == access.location.id;
      if (access.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE &&
          (is_own || access.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)) {
        return CUDA_ERROR_INVALID_VALUE;
      }
    }
    for (const CUmemAccessDesc& access : all) {
      pool->SetAccess(access.location.id,
                      access.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolExportToShareableHandle(void* handle, CUmemoryPool pool,
                                          CUmemAllocationHandleType type,
                                          unsigned long long flags) {
  return WithPool(pool, [&](const std::shared_ptr<MemoryPool>& found) {
    if (handle == nullptr || flags != 0 ||
        type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return Ipc::Get().ExportPool(*found, static_cast<int*>(handle));
  });
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags) {
  return WithObjects([&](Process& process) {
    if (pool == nullptr || flags != 0 ||
        type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const auto fd = static_cast<int>(reinterpret_cast<intptr_t>(handle));
    return Ipc::Get().ImportPool(process, fd, pool);
  });
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* data,
                                CUdeviceptr pointer) {
  return WithObjects([&](Process& process) {
    return data == nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : Ipc::Get().ExportPoolMemory(process, pointer, data);
  });
}

CUresult cuMemPoolImportPointer(CUdeviceptr* pointer, CUmemoryPool pool,
                                CUmemPoolPtrExportData* data) {
  return WithContext([&](Process& process, Context& context) {
    std::shared_ptr<MemoryPool> found = process.pools().Find(pool);
    if (AnyNull(pointer, data) || found == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return Ipc::Get().ImportPoolMemory(process, context, std::move(found),
                                       *data, pointer);
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
    const auto pool = process.pools().Find(handle);
    if (pool == nullptr || pool->kind() != Kind::kDevice ||
        pool->ordinal() != device || pool->sharing().is_imported) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return process.pools().SetCurrent(handle) ? CUDA_SUCCESS
                                              : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                CUmemAllocationType type) {
  return GetPool(pool, location, type, /*is_default=*/true);
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location,
                         CUmemAllocationType type) {
  return GetPool(pool, location, type, /*is_default=*/false);
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type,
                         CUmemoryPool handle) {
  return WithPool(handle, [&](const std::shared_ptr<MemoryPool>& pool) {
    if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Process& process = Process::Get();
    return WithKind(type, *location, [&](Kind kind, int ordinal) -> CUresult {
      if (pool->kind() != kind || pool->ordinal() != ordinal ||
          pool->sharing().is_imported) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      return process.pools().SetCurrent(handle) ? CUDA_SUCCESS
                                                : CUDA_ERROR_INVALID_VALUE;
    });
  });
}

}  // extern "C"
