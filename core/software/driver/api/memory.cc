// SPDX-License-Identifier: Apache-2.0
//
// Entry points: device and host memory, and what pointers are.
#include <utility>

#include "core/base/arena_range.h"
#include "core/cuda/memory_arguments.h"
#include "core/cuda/pointer_attribute.h"
#include "core/software/driver/api/capture_call.h"
#include "core/software/driver/call.h"
#include "core/software/driver/graph/allocation.h"

using namespace holdfast::software;
using holdfast::cuda::StoreAttribute;

namespace {

CUresult Allocate(Driver& driver, Context& context, MemoryKind kind,
                  size_t size, unsigned flags, uintptr_t* address) {
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  const bool host = IsHost(kind);
  std::unique_ptr<Block> block;
  const CUresult result = Block::Create(
      size, host ? Block::Place::kStart : Block::Place::kEnd,
      host ? nullptr : &context.device().memory(), /*fd=*/-1, &block);
  if (result != CUDA_SUCCESS) return result;
  *address = block->address();
  Region region;
  region.address = *address;
  region.size = size;
  region.kind = kind;
  region.context_id = context.id();
  region.device = context.device().ordinal();
  region.flags = flags;
  region.backing = std::move(block);
  driver.memory.Insert(std::move(region));
  return CUDA_SUCCESS;
}

// Waits until no work can touch the memory any more, then frees it.
CUresult Free(Driver& driver, uintptr_t address,
              std::initializer_list<MemoryKind> kinds, CUresult unknown) {
  if (const CUresult unsafe = CheckUnsafe(driver); unsafe != CUDA_SUCCESS) {
    return unsafe;
  }
  const std::optional<Region> region = driver.memory.Remove(address, kinds);
  if (!region.has_value()) return ErrorOfMissing(unknown);
  driver.DrainAll();
  return CUDA_SUCCESS;
}

CUresult AllocateDevice(CUdeviceptr* pointer, size_t size, MemoryKind kind,
                        unsigned flags) {
  return WithContext([&](Driver& driver, Context& context) {
    if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult unsafe = CheckUnsafe(driver); unsafe != CUDA_SUCCESS) {
      return unsafe;
    }
    uintptr_t address = 0;
    const CUresult result =
        Allocate(driver, context, kind, size, flags, &address);
    if (result == CUDA_SUCCESS) *pointer = address;
    return result;
  });
}

CUresult AllocateHost(void** pointer, size_t size, unsigned flags) {
  return WithContext([&](Driver& driver, Context& context) {
    if (pointer == nullptr || (flags & ~holdfast::cuda::kHostAllocFlags) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // As CUDA's driver: no bytes are null, and cuMemFreeHost takes null.
    *pointer = nullptr;
    if (size == 0) return CUDA_SUCCESS;
    uintptr_t address = 0;
    const CUresult result =
        Allocate(driver, context, MemoryKind::kHost, size, flags, &address);
    if (result == CUDA_SUCCESS) *pointer = reinterpret_cast<void*>(address);
    return result;
  });
}

// Memory that the program has mapped in the window: kernels reach it as it is.
bool IsInWindow(uintptr_t address, size_t size) {
  return HasArenaRange() && holdfast::IsInArenaRange(address, size);
}

// Also makes an alias of memory that is shared, unless it lies in the window.
CUresult Register(Driver& driver, Context& context, uintptr_t address,
                  size_t size, unsigned flags) {
  Region region;
  region.address = address;
  region.size = size;
  region.kind = MemoryKind::kRegistered;
  region.context_id = context.id();
  region.device = context.device().ordinal();
  region.flags = flags;
  Region alias = region;
  std::unique_ptr<Alias> made;
  if (IsInWindow(address, size)) {
    region.other = address;
  } else {
    made = Alias::Create(address, size);
    if (made != nullptr) region.other = made->address();
  }
  if (!driver.memory.Insert(std::move(region))) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  if (made == nullptr) return CUDA_SUCCESS;
  alias.address = made->address();
  alias.kind = MemoryKind::kAlias;
  alias.other = address;
  alias.backing = std::move(made);
  driver.memory.Insert(std::move(alias));
  return CUDA_SUCCESS;
}

CUmemorytype MemoryType(const Region& region) {
  return IsHost(region.kind) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

CUcontext ContextOf(Driver& driver, const Region& region) {
  const std::shared_ptr<Context> context =
      driver.contexts().FindById(region.context_id);
  return context == nullptr ? nullptr : context->handle();
}

unsigned long long HandleTypes(const Region& region) {
  return region.physical == nullptr
             ? CU_MEM_HANDLE_TYPE_NONE
             : region.physical->properties().requestedHandleTypes;
}

CUresult GetPointerAttribute(Driver& driver, const Region& region,
                             CUpointer_attribute attribute, CUdeviceptr pointer,
                             void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return StoreAttribute(data, ContextOf(driver, region));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return StoreAttribute(data, MemoryType(region));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      if (region.kind != MemoryKind::kRegistered)
        return StoreAttribute(data, pointer);
      if (region.other == 0) return CUDA_ERROR_INVALID_VALUE;
      return StoreAttribute(data, region.other + (pointer - region.address));
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!IsHost(region.kind) && region.kind != MemoryKind::kManaged) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      if (region.kind == MemoryKind::kAlias) {
        return StoreAttribute(data, region.other + (pointer - region.address));
      }
      return StoreAttribute(data, pointer);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return StoreAttribute<unsigned>(data, region.has_sync_memops);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return StoreAttribute(data, 0u);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return StoreAttribute<unsigned>(data, region.kind == MemoryKind::kDevice);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return StoreAttribute<unsigned long long>(data, region.buffer_id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return StoreAttribute<unsigned>(data,
                                      region.kind == MemoryKind::kManaged);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return StoreAttribute<int>(data, region.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return StoreAttribute<CUdeviceptr>(data, region.address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return StoreAttribute<size_t>(data, region.size);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return StoreAttribute(data, 1u);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return StoreAttribute<unsigned long long>(data, HandleTypes(region));
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: {
      const CUdevice device = driver.CurrentDevice().ordinal();
      return StoreAttribute<unsigned>(data, region.AccessOf(device));
    }
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return StoreAttribute(data, region.pool);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

extern "C" {

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return WithContext([&](Driver&, Context& context) {
    const MemoryBudget& budget = context.device().memory();
    if (free != nullptr) *free = budget.free();
    if (total != nullptr) *total = budget.total();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t size) {
  return AllocateDevice(pointer, size, MemoryKind::kDevice, 0);
}

CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t size, unsigned flags) {
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return AllocateDevice(pointer, size, MemoryKind::kManaged, flags);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width,
                            size_t height, unsigned element) {
  if (AnyNull(pointer, pitch)) return CUDA_ERROR_INVALID_VALUE;
  size_t row = 0;
  CUresult result = holdfast::cuda::ReadPitch(width, height, element, &row);
  if (result == CUDA_SUCCESS)
    result = AllocateDevice(pointer, row * height, MemoryKind::kDevice, 0);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return WithObjects([&](Driver& driver) {
    if (pointer == 0) return CUDA_SUCCESS;
    if (const auto of_graph = GraphMemory::Get().Find(pointer)) {
      driver.DrainAll();
      return GraphMemory::Get().Free(*of_graph);
    }
    return Free(driver, pointer,
                {MemoryKind::kDevice, MemoryKind::kManaged, MemoryKind::kPool,
                 MemoryKind::kHostPool},
                CUDA_ERROR_INVALID_VALUE);
  });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size,
                                 CUdeviceptr pointer) {
  return WithContext([&](Driver& driver, Context&) {
    const std::optional<Region> region = driver.memory.Find(pointer);
    if (!region.has_value()) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = region->address;
    if (size != nullptr) *size = region->size;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostAlloc(void** pointer, size_t size, unsigned flags) {
  return AllocateHost(pointer, size, flags);
}

CUresult cuMemAllocHost_v2(void** pointer, size_t size) {
  return AllocateHost(pointer, size, 0);
}

CUresult cuMemFreeHost(void* pointer) {
  return WithObjects([&](Driver& driver) {
    if (pointer == nullptr) return CUDA_SUCCESS;
    return Free(driver, reinterpret_cast<uintptr_t>(pointer),
                {MemoryKind::kHost}, CUDA_ERROR_INVALID_VALUE);
  });
}

CUresult cuMemHostRegister_v2(void* pointer, size_t size, unsigned flags) {
  return WithContext([&](Driver& driver, Context& context) {
    if (pointer == nullptr || size == 0 ||
        (flags & ~holdfast::cuda::kHostRegisterFlags) != 0 ||
        !holdfast::cuda::IsMapped(pointer, size)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return Register(driver, context, reinterpret_cast<uintptr_t>(pointer), size,
                    flags);
  });
}

CUresult cuMemHostUnregister(void* pointer) {
  return WithObjects([&](Driver& driver) {
    if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    const std::optional<Region> region = driver.memory.Find(address);
    if (region.has_value() && region->address != address) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult result = Free(driver, address, {MemoryKind::kRegistered},
                                 CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    if (result == CUDA_SUCCESS && region->other != 0) {
      driver.memory.Remove(region->other, {MemoryKind::kAlias});
    }
    return result;
  });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host,
                                      unsigned flags) {
  return WithContext([&](Driver& driver, Context&) {
    if (AnyNull(device, host) || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto address = reinterpret_cast<uintptr_t>(host);
    const std::optional<Region> region = driver.memory.Find(address);
    if (!region.has_value() || !IsHost(region->kind)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *device = address;  // one address space
    if (region->kind != MemoryKind::kRegistered) return CUDA_SUCCESS;
    // Kernels reach the window only, and the program's own memory lies outside.
    if (region->other == 0) return CUDA_ERROR_NOT_SUPPORTED;
    *device = region->other + (address - region->address);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostGetFlags(unsigned* flags, void* host) {
  return WithContext([&](Driver& driver, Context&) {
    if (AnyNull(flags, host)) return CUDA_ERROR_INVALID_VALUE;
    const std::optional<Region> region =
        driver.memory.Find(reinterpret_cast<uintptr_t>(host));
    if (!region.has_value() || !IsHost(region->kind)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = region->flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                               CUdeviceptr pointer) {
  return WithObjects([&](Driver& driver) {
    if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::optional<Region> region = driver.memory.Find(pointer);
    if (!region.has_value()) return ErrorOfMissing(CUDA_ERROR_INVALID_VALUE);
    return GetPointerAttribute(driver, *region, attribute, pointer, data);
  });
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                               CUdeviceptr pointer) {
  return WithObjects([&](Driver& driver) {
    const std::optional<Region> region = driver.memory.Find(pointer);
    if (value == nullptr || !region.has_value() ||
        attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    driver.memory.SetSyncMemops(region->address,
                                *static_cast<const unsigned*>(value) != 0);
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes,
                                void** data, CUdeviceptr pointer) {
  return WithObjects([&](Driver& driver) {
    if (count > 0 && AnyNull(attributes, data)) return CUDA_ERROR_INVALID_VALUE;
    const std::optional<Region> region = driver.memory.Find(pointer);
    for (unsigned i = 0; i < count; ++i) {
      if (!region.has_value() ||
          GetPointerAttribute(driver, *region, attributes[i], pointer,
                              data[i]) != CUDA_SUCCESS) {
        holdfast::cuda::StoreAttributeOfUnknown(
            attributes[i], !region.has_value() ? pointer : 0, data[i]);
      }
    }
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
