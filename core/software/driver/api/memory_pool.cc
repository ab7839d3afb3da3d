// SPDX-License-Identifier: Apache-2.0
//
// Entry points: stream-ordered allocation and its pools.
#include "core/software/driver/memory_pool.h"

#include <optional>
#include <utility>

#include "core/software/driver/api/capture_call.h"
#include "core/software/driver/call.h"
#include "core/software/driver/graph/allocation.h"
#include "core/software/driver/graph/parameters.h"

using namespace holdfast::software;

namespace {

CUresult Allocate(Driver& driver, Stream& stream, CUmemoryPool pool_handle,
                  size_t size, CUdeviceptr* pointer) {
  if (pointer == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<MemoryPool> pool = driver.pools.Find(pool_handle);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult captured;
  if (Captured(driver, stream, &captured, [&](NodeParameters* node) {
        CUDA_MEM_ALLOC_NODE_PARAMS p{};
        p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        p.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE,
                                pool->device().ordinal()};
        p.bytesize = size;
        const CUresult decoded = DecodeAllocation(driver, &p, node);
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
  region.kind = MemoryKind::kPool;
  region.context_id = stream.context().id();
  region.device = pool->device().ordinal();
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
    if (Captured(driver, found, &captured, [&](NodeParameters* node) {
          return DecodeFree(pointer, node);
        })) {
      return captured;
    }
    if (const auto of_graph = GraphMemory::Get().Find(pointer)) {
      const CUresult result = GraphMemory::Get().Free(*of_graph);
      if (result != CUDA_SUCCESS) return result;
      GraphMemory::Get().Use({.freed = {of_graph}}, found.Tail());
      return CUDA_SUCCESS;
    }
    std::optional<Region> region =
        driver.memory.Remove(pointer, {MemoryKind::kPool, MemoryKind::kDevice});
    if (!region.has_value()) return CUDA_ERROR_INVALID_VALUE;
    // Running the operation drops the last reference, and so the memory. The
    // next thread that works for the stream runs it if there is none now.
    const Stream::Operation let_go{
        .run = [backing = std::move(region->backing)] {},
        .after = {},
        .even_after_fault = true};
    if (!found.Enqueue(let_go, Stream::Runner::kCaller).has_value()) {
      found.Enqueue(let_go, Stream::Runner::kWaiter);
      ForgetRefusal();
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  return WithDriver([&](Driver& driver) {
    if (AnyNull(pool, properties) ||
        properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        !IsDevice(properties->location)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    holdfast::UniqueFd fd;
    if (properties->handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      fd = Block::CreateMemfd(Block::kPoolMemfdName);
      if (!fd.valid()) return CUDA_ERROR_OUT_OF_MEMORY;
    } else if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    *pool = driver.pools.Add(std::make_shared<MemoryPool>(
        *driver.FindDevice(properties->location.id), properties->maxSize,
        std::move(fd)));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return WithDriver([&](Driver& driver) {
    const std::shared_ptr<MemoryPool> found = driver.pools.Find(pool);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device& device = found->device();
    if (pool == device.default_pool()) return CUDA_ERROR_NOT_PERMITTED;
    // Its allocations keep it until they are freed.
    driver.pools.Remove(pool);
    device.current_pool.compare_exchange_strong(pool, device.default_pool());
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
      const bool own = a.location.id == pool.device().ordinal();
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
    if (AnyNull(flags, location) || !IsDevice(*location)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
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
    if (other == nullptr || &other->device() != &found) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    found.current_pool = pool;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                CUmemAllocationType type) {
  if (location == nullptr || type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      !IsDevice(*location)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return cuDeviceGetDefaultMemPool(pool, location->id);
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location,
                         CUmemAllocationType type) {
  if (location == nullptr || type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      !IsDevice(*location)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return cuDeviceGetMemPool(pool, location->id);
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type,
                         CUmemoryPool pool) {
  if (location == nullptr || type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      !IsDevice(*location)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return cuDeviceSetMemPool(location->id, pool);
}

}  // extern "C"
