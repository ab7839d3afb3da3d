// SPDX-License-Identifier: Apache-2.0
//
// Entry points: stream-ordered allocation and its pools.
#include "core/software/driver/memory_pool.h"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "core/cuda/allocation_properties.h"
#include "core/software/driver/api/capture_call.h"
#include "core/software/driver/call.h"
#include "core/software/driver/graph/allocation.h"
#include "core/software/driver/graph/parameters.h"

using namespace holdfast::software;

namespace {

// The properties of a pool, as an allocation node names them.
CUmemPoolProps PropertiesOf(const MemoryPool& pool) {
  const bool is_host = pool.kind() == MemoryKind::kHostPool;
  CUmemPoolProps properties{};
  properties.allocType = pool.kind() == MemoryKind::kManaged
                             ? CU_MEM_ALLOCATION_TYPE_MANAGED
                             : CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type =
      is_host ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = is_host ? 0 : pool.device().ordinal();
  return properties;
}

CUresult Allocate(Driver& driver, Stream& stream, CUmemoryPool pool_handle,
                  size_t size, CUdeviceptr* pointer) {
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<MemoryPool> pool = driver.pools.Find(pool_handle);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (size == 0) {  // is no error, other than for cuMemAlloc
    *pointer = 0;
    return CUDA_SUCCESS;
  }
  CUresult captured;
  if (Captured(driver, stream, &captured, [&](NodeWork* node) {
        CUDA_MEM_ALLOC_NODE_PARAMS p{};
        p.poolProps = PropertiesOf(*pool);
        p.bytesize = size;
        const CUresult decoded = ReadAllocation(driver, &p, node);
        *pointer = p.dptr;
        return decoded;
      })) {
    return captured;
  }
  Region region;
  // Allocated at once; stream order allows more, but demands no less.
  const CUresult result =
      pool->Allocate(size, &region.address, &region.backing);
  if (result != CUDA_SUCCESS) return result;
  region.size = size;
  region.kind = pool->kind();
  region.context_id = stream.context().id();
  region.device = pool->kind() == MemoryKind::kPool
                      ? pool->device().ordinal()
                      : stream.context().device().ordinal();
  region.pool = pool_handle;
  *pointer = region.address;
  driver.memory.Insert(std::move(region));
  return CUDA_SUCCESS;
}

template <typename Body>
CUresult WithPool(CUmemoryPool handle, Body body) {
  return WithDriver([&](Driver& driver) -> CUresult {
    const std::shared_ptr<MemoryPool> pool = driver.pools.Find(handle);
    return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*pool);
  });
}

bool IsDevice(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
         Driver::Get().FindDevice(location.id) != nullptr;
}

bool IsHost(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_HOST ||
         location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

std::optional<MemoryKind> KindOf(CUmemAllocationType type,
                                 const CUmemLocation& location) {
  const auto kind =
      holdfast::cuda::PoolKindOf(type, location, Driver::Get().device_count());
  if (!kind.has_value()) return std::nullopt;
  return RegionKindOf(*kind);
}

// The default pool and the current pool of host memory or of managed memory,
// which belong to no device.
struct SharedPool {
  SharedPool(Driver& driver, MemoryKind kind)
      : first(driver.pools.Add(std::make_shared<MemoryPool>(
            *driver.FindDevice(0), kind, /*max_size=*/0))),
        current(first) {}

  // REQUIRES: there is a device.
  static SharedPool& Of(MemoryKind kind) {
    static SharedPool& host =
        *new SharedPool(Driver::Get(), MemoryKind::kHostPool);
    static SharedPool& managed =
        *new SharedPool(Driver::Get(), MemoryKind::kManaged);
    return kind == MemoryKind::kHostPool ? host : managed;
  }

  const CUmemoryPool first;
  std::atomic<CUmemoryPool> current;
};

// body(kind, location) for a kind of pools that exists.
template <typename Body>
CUresult WithKind(CUmemLocation* location, CUmemAllocationType type,
                  Body body) {
  return WithDriver([&](Driver&) -> CUresult {
    if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::optional<MemoryKind> kind = KindOf(type, *location);
    return kind.has_value() ? body(*kind, *location) : CUDA_ERROR_INVALID_VALUE;
  });
}

// Removes memory that cuMemFreeAsync frees; nullopt: there is none.
std::optional<Region> Remove(MemoryMap& memory, CUdeviceptr pointer) {
  const std::optional<Region> region = memory.Find(pointer);
  if (region.has_value() && region->kind == MemoryKind::kManaged &&
      region->pool == nullptr) {
    return std::nullopt;
  }
  return memory.Remove(pointer, {MemoryKind::kPool, MemoryKind::kHostPool,
                                 MemoryKind::kManaged, MemoryKind::kDevice});
}

// Drops the reference to memory, which may be the last one, when the stream has
// come to this point. Stream::RunLeft does it if the system allows no thread.
void DropInOrder(Stream& stream, std::shared_ptr<void> memory) {
  const Stream::Operation release{.run = [memory = std::move(memory)] {},
                                  .after = {},
                                  .even_after_fault = true,
                                  .is_brief = true};
  if (stream.Enqueue(release, Stream::Runner::kCaller).has_value()) return;
  stream.Enqueue(release, Stream::Runner::kWaiter);
  ForgetRefusal();
}

}  // namespace

extern "C" {

CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t size, CUstream stream) {
  return WithStream(stream, [&](Driver& driver, Stream& found) {
    return Allocate(driver, found, found.context().device().current_pool, size,
                    pointer);
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t size,
                                 CUmemoryPool pool, CUstream stream) {
  return WithStream(stream, [&](Driver& driver, Stream& found) {
    return Allocate(driver, found, pool, size, pointer);
  });
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  return WithStream(stream, [&](Driver& driver, Stream& found) {
    if (pointer == 0) return CUDA_SUCCESS;
    CUresult captured;
    if (Captured(driver, found, &captured,
                 [&](NodeWork* node) { return ReadFree(pointer, node); })) {
      return captured;
    }
    if (const auto of_graph = GraphMemory::Get().Find(pointer)) {
      const CUresult result = GraphMemory::Get().Free(*of_graph);
      if (result != CUDA_SUCCESS) return result;
      GraphMemory::Get().Use({.freed = {of_graph}}, found.Tail());
      DropInOrder(found, of_graph);
      return CUDA_SUCCESS;
    }
    std::optional<Region> region = Remove(driver.memory, pointer);
    if (!region.has_value()) return CUDA_ERROR_INVALID_VALUE;
    // In memcheck mode the buffer stays in the table until then.
    DropInOrder(found, region->entry == nullptr
                           ? std::shared_ptr<void>(std::move(region->backing))
                           : std::make_shared<Region>(*std::move(region)));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  return WithDriver([&](Driver& driver) {
    if (AnyNull(pool, properties)) return CUDA_ERROR_INVALID_VALUE;
    const CUmemLocation& location = properties->location;
    const std::optional<MemoryKind> kind =
        KindOf(properties->allocType, location);
    if (!kind.has_value()) return CUDA_ERROR_INVALID_VALUE;
    const CUresult types =
        holdfast::cuda::CheckHandleTypes(properties->handleTypes);
    if (types != CUDA_SUCCESS) return types;
    holdfast::UniqueFd fd;
    if (properties->handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      if (*kind == MemoryKind::kManaged) return CUDA_ERROR_NOT_SUPPORTED;
      fd = Block::CreateMemfd(MemoryPool::MemfdName(*kind));
      if (!fd.valid()) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *pool = driver.pools.Add(std::make_shared<MemoryPool>(
        *driver.FindDevice(IsDevice(location) ? location.id : 0), *kind,
        properties->maxSize, std::move(fd)));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return WithDriver([&](Driver& driver) {
    const std::shared_ptr<MemoryPool> found = driver.pools.Find(pool);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const bool of_device = found->kind() == MemoryKind::kPool;
    Device& device = found->device();
    const CUmemoryPool first =
        of_device ? device.default_pool() : SharedPool::Of(found->kind()).first;
    if (pool == first) return CUDA_ERROR_NOT_PERMITTED;
    // Its allocations keep it until they are freed.
    driver.pools.Remove(pool);
    auto& current =
        of_device ? device.current_pool : SharedPool::Of(found->kind()).current;
    current.compare_exchange_strong(pool, first);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t bytes) {
  return WithPool(handle, [&](MemoryPool& pool) {
    pool.TrimTo(bytes);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle,
                               CUmemPool_attribute attribute, void* value) {
  return WithPool(handle, [&](MemoryPool& pool) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : pool.GetAttribute(attribute, value);
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle,
                               CUmemPool_attribute attribute, void* value) {
  return WithPool(handle, [&](MemoryPool& pool) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : pool.SetAttribute(attribute, value);
  });
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* access,
                            size_t count) {
  return WithPool(handle, [&](MemoryPool& pool) {
    if (access == nullptr && count > 0) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      const CUmemAccessDesc& a = access[i];
      if (!IsDevice(a.location)) return CUDA_ERROR_INVALID_DEVICE;
      // The pool's own device always has access.
      const bool own = pool.kind() == MemoryKind::kPool &&
                       a.location.id == pool.device().ordinal();
      if (a.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE &&
          (own || a.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)) {
        return CUDA_ERROR_INVALID_VALUE;
      }
    }
    for (size_t i = 0; i < count; ++i) {
      pool.SetAccess(access[i].location.id, access[i].flags);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle,
                            CUmemLocation* location) {
  return WithPool(handle, [&](MemoryPool& pool) {
    if (AnyNull(flags, location)) return CUDA_ERROR_INVALID_VALUE;
    if (IsHost(*location)) {
      *flags = pool.kind() == MemoryKind::kHostPool
                   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                   : CU_MEM_ACCESS_FLAGS_PROT_NONE;
      return CUDA_SUCCESS;
    }
    if (!IsDevice(*location)) return CUDA_ERROR_INVALID_VALUE;
    *flags = pool.GetAccess(location->id);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return WithDevice(device, [&](Device& found) {
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pool = found.default_pool();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return WithDevice(device, [&](Device& found) {
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pool = found.current_pool;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return WithDevice(device, [&](Device& found) {
    const std::shared_ptr<MemoryPool> other = Driver::Get().pools.Find(pool);
    if (other == nullptr || other->kind() != MemoryKind::kPool ||
        &other->device() != &found || other->imported()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    found.current_pool = pool;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                CUmemAllocationType type) {
  return WithKind(location, type, [&](MemoryKind kind, CUmemLocation where) {
    if (kind == MemoryKind::kPool) {
      return cuDeviceGetDefaultMemPool(pool, where.id);
    }
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pool = SharedPool::Of(kind).first;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location,
                         CUmemAllocationType type) {
  return WithKind(location, type, [&](MemoryKind kind, CUmemLocation where) {
    if (kind == MemoryKind::kPool) return cuDeviceGetMemPool(pool, where.id);
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pool = SharedPool::Of(kind).current;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type,
                         CUmemoryPool pool) {
  return WithKind(location, type, [&](MemoryKind kind, CUmemLocation where) {
    if (kind == MemoryKind::kPool) return cuDeviceSetMemPool(where.id, pool);
    const std::shared_ptr<MemoryPool> other = Driver::Get().pools.Find(pool);
    if (other == nullptr || other->kind() != kind || other->imported()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    SharedPool::Of(kind).current = pool;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
