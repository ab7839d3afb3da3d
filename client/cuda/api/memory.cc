// SPDX-License-Identifier: Apache-2.0
//
// Entry points: device and host memory, and what pointers are.
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cuda/allocate.h"
#include "client/cuda/api/call.h"
#include "client/cuda/graph/graph_memory.h"
#include "client/cuda/ipc.h"
#include "core/cuda/memory_arguments.h"
#include "core/cuda/pointer_attribute.h"

using namespace holdfast::libcuda;
using holdfast::cuda::StoreAttribute;

namespace {

CUresult AllocateHost(void** pointer, size_t size, unsigned flags) {
  return WithContext([&](Process& process, Context& context) -> CUresult {
    if (pointer == nullptr || (flags & ~holdfast::cuda::kHostAllocFlags) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult unsafe = CheckUnsafeCall(process);
    if (unsafe != CUDA_SUCCESS) return unsafe;
    // As CUDA's driver: no bytes are null, and cuMemFreeHost takes null.
    *pointer = nullptr;
    if (size == 0) return CUDA_SUCCESS;
    auto allocation = NewAllocation(context, size);
    allocation->flags = flags;
    const CUresult allocated = AllocatePinned(process, *allocation);
    if (allocated != CUDA_SUCCESS) return allocated;
    *pointer = reinterpret_cast<void*>(allocation->address);
    process.memory.Add(std::move(allocation));
    return CUDA_SUCCESS;
  });
}

CUresult GetPointerAttribute(const Allocation& memory,
                             CUpointer_attribute attribute, CUdeviceptr pointer,
                             void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return StoreAttribute(data, memory.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return StoreAttribute<unsigned>(
          data, memory.is_host() && !memory.is_managed ? CU_MEMORYTYPE_HOST
                                                       : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return memory.has_place() ? StoreAttribute(data, pointer)
                                : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return memory.is_host() ? StoreAttribute(data, pointer)
                              : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return StoreAttribute<unsigned>(data, memory.is_managed);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return StoreAttribute<unsigned>(data, memory.has_sync_memops);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return StoreAttribute(data, 0U);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return StoreAttribute<unsigned>(data, IsFreeable(memory) &&
                                                !memory.is_managed &&
                                                memory.pool == nullptr);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return StoreAttribute<unsigned long long>(data, memory.id);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return StoreAttribute<int>(data, memory.ordinal);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return StoreAttribute<CUdeviceptr>(data, memory.address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return StoreAttribute<size_t>(data, memory.size);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return StoreAttribute<unsigned>(data, memory.has_place());
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return StoreAttribute<unsigned long long>(data, 0);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return StoreAttribute(data,
                            Process::Get().pools().HandleOf(memory.pool.get()));
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return StoreAttribute<unsigned>(
          data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// body(Allocation&) with host memory that the driver knows.
template <typename Body>
CUresult WithHostMemory(void* host, Body body) {
  return WithContext([&](Process& process, Context&) -> CUresult {
    const auto memory = process.memory.Find(reinterpret_cast<uint64_t>(host));
    return memory == nullptr || !memory->is_host() ? CUDA_ERROR_INVALID_VALUE
                                                   : body(*memory);
  });
}

// The answer to the end of memory that is not there.
CUresult NotAllocated(Process& process, uint64_t address) {
  return Failed(
      ErrorOfMissing(process, CUDA_ERROR_INVALID_VALUE),
      absl::StrCat("0x", absl::Hex(address),
                   " is not the start of memory that this call frees"));
}

// Why kernels have no address of this host memory.
absl::Status NotShared(const Allocation& memory) {
  return absl::UnimplementedError(
      memory.is_registered
          ? "kernels cannot use memory that is registered by "
            "cuMemHostRegister, which the program does not share with the "
            "daemon; copy it, or allocate it by cuMemHostAlloc"
          : "kernels cannot use pinned memory of a program on another machine "
            "than the daemon; copy it");
}

}  // namespace

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t size) {
  return WithContext([&](Process& process, Context& context) {
    const CUresult unsafe = CheckUnsafeCall(process);
    return unsafe != CUDA_SUCCESS
               ? unsafe
               : AllocateDevice(process, context, {}, size, pointer);
  });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width,
                            size_t height, unsigned element) {
  if (AnyNull(pointer, pitch)) return Failed(CUDA_ERROR_INVALID_VALUE);
  size_t row = 0;
  CUresult result = holdfast::cuda::ReadPitch(width, height, element, &row);
  if (result == CUDA_SUCCESS) result = cuMemAlloc_v2(pointer, row * height);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

// The daemon frees the memory when no work can use it any more.
CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return WithObjects([&](Process& process) -> CUresult {
    if (pointer == 0) return CUDA_SUCCESS;
    const CUresult unsafe = CheckUnsafeCall(process);
    if (unsafe != CUDA_SUCCESS) return unsafe;
    if (const auto of_graph = GraphMemory::Get().Find(pointer)) {
      const CUresult result = GraphMemory::Get().Free(*of_graph);
      return result == CUDA_SUCCESS && of_graph->is_pinned()
                 ? Answer(process.connection().session().Synchronize())
                 : result;
    }
    const auto memory = process.memory.Find(pointer);
    if (memory != nullptr && memory->is_pool_import()) {
      return Ipc::Get().CloseMemory(process, pointer);
    }
    const auto freed = process.memory.Remove(pointer, IsFreeable);
    if (freed == nullptr) {
      return NotAllocated(process, pointer);
    }
    return freed->is_host()
               ? Answer(process.connection().session().Synchronize())
               : CUDA_SUCCESS;
  });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size,
                                 CUdeviceptr pointer) {
  return WithContext([&](Process& process, Context&) {
    const auto memory = process.memory.Find(pointer);
    if (memory == nullptr) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = memory->address;
    if (size != nullptr) *size = memory->size;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostAlloc(void** pointer, size_t size, unsigned flags) {
  return AllocateHost(pointer, size, flags);
}

CUresult cuMemAllocHost_v2(void** pointer, size_t size) {
  return AllocateHost(pointer, size, 0);
}

// As the driver: waits until no work can use the memory any more.
CUresult cuMemFreeHost(void* pointer) {
  return WithObjects([&](Process& process) -> CUresult {
    if (pointer == nullptr) return CUDA_SUCCESS;
    const CUresult unsafe = CheckUnsafeCall(process);
    if (unsafe != CUDA_SUCCESS) return unsafe;
    const auto freed = process.memory.Remove(
        reinterpret_cast<uint64_t>(pointer), [](const Allocation& memory) {
          return memory.is_host() && !memory.is_registered &&
                 !memory.is_managed && !memory.is_of_graph &&
                 memory.pool == nullptr;
        });
    if (freed == nullptr) {
      return NotAllocated(process, reinterpret_cast<uint64_t>(pointer));
    }
    return freed->has_place()
               ? Answer(process.connection().session().Synchronize())
               : CUDA_SUCCESS;
  });
}

// The program's own memory cannot be moved into an arena: copies use it as
// ordinary memory, and kernels cannot.
CUresult cuMemHostRegister_v2(void* pointer, size_t size, unsigned flags) {
  return WithContext([&](Process& process, Context& context) -> CUresult {
    if (pointer == nullptr || size == 0 ||
        (flags & ~holdfast::cuda::kHostRegisterFlags) != 0 ||
        !holdfast::cuda::IsMapped(pointer, size)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const auto address = reinterpret_cast<uint64_t>(pointer);
    if (process.memory.Find(address) != nullptr) {
      return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    auto allocation = NewAllocation(context, size);
    allocation->address = address;
    allocation->flags = flags;
    allocation->is_registered = true;
    process.memory.Add(std::move(allocation));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostUnregister(void* pointer) {
  return WithObjects([&](Process& process) {
    if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto address = reinterpret_cast<uint64_t>(pointer);
    const auto known = process.memory.Find(address);
    if (known != nullptr && known->address != address) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const auto found = process.memory.Remove(
        address, [](const Allocation& memory) { return memory.is_registered; });
    return found == nullptr
               ? ErrorOfMissing(process, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
               : CUDA_SUCCESS;
  });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host,
                                      unsigned flags) {
  if (AnyNull(device, host) || flags != 0)
    return Failed(CUDA_ERROR_INVALID_VALUE);
  return WithHostMemory(host, [&](Allocation& memory) -> CUresult {
    if (!memory.span.has_value()) return Answer(NotShared(memory));
    HOLDFAST_ANSWER_OR_ASSIGN(const uint64_t address, memory.span->address());
    *device = address + (reinterpret_cast<uint64_t>(host) - memory.address);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostGetFlags(unsigned* flags, void* host) {
  if (AnyNull(flags, host)) return Failed(CUDA_ERROR_INVALID_VALUE);
  return WithHostMemory(host, [&](Allocation& memory) {
    *flags = memory.flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                               CUdeviceptr pointer) {
  return WithObjects([&](Process& process) {
    if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto memory = process.memory.Find(pointer);
    return memory == nullptr
               ? ErrorOfMissing(process, CUDA_ERROR_INVALID_VALUE)
               : GetPointerAttribute(*memory, attribute, pointer, data);
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes,
                                void** data, CUdeviceptr pointer) {
  return WithObjects([&](Process& process) {
    if (count > 0 && AnyNull(attributes, data)) return CUDA_ERROR_INVALID_VALUE;
    const auto memory = process.memory.Find(pointer);
    for (unsigned i = 0; i < count; ++i) {
      if (memory == nullptr ||
          GetPointerAttribute(*memory, attributes[i], pointer, data[i]) !=
              CUDA_SUCCESS) {
        holdfast::cuda::StoreAttributeOfUnknown(
            attributes[i], memory == nullptr ? pointer : 0, data[i]);
      }
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                               CUdeviceptr pointer) {
  return WithObjects([&](Process& process) {
    const auto memory = process.memory.Find(pointer);
    if (value == nullptr || memory == nullptr ||
        attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    memory->has_sync_memops = *static_cast<const unsigned*>(value) != 0;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
