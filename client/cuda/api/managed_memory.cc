// SPDX-License-Identifier: Apache-2.0
//
// Entry points: managed memory. On the daemon's machine it is pinned memory,
// with one address for the program and for kernels, which read and write it
// across the bus. It never moves to a device, so that advice and prefetches
// change no result. The bytes of a discarded range stay as they are.
#include <memory>
#include <vector>

#include "absl/base/const_init.h"
#include "absl/synchronization/mutex.h"
#include "client/cuda/allocate.h"
#include "client/cuda/api/call.h"
#include "core/cuda/managed_batch.h"

using namespace holdfast::libcuda;

namespace {

// Guards Allocation::advice of all allocations.
ABSL_CONST_INIT absl::Mutex advice_mutex(absl::kConstInit);

int DeviceCount(const Process& process) {
  return static_cast<int>(process.connection().devices().size());
}

// Returns the managed memory that holds the whole range; null: there is none.
std::shared_ptr<Allocation> FindManaged(const Process& process,
                                        CUdeviceptr pointer, size_t size) {
  std::shared_ptr<Allocation> memory = process.memory.Find(pointer);
  if (memory == nullptr || !memory->is_managed || size == 0 ||
      size > memory->address + memory->size - pointer) {
    return nullptr;
  }
  return memory;
}

// body(Process&, MemoryAdvice&) with the advice of managed memory.
// CUDA_ERROR_INVALID_VALUE: not all of the range is managed memory.
template <typename Body>
CUresult WithAdvice(CUdeviceptr pointer, size_t size, Body body) {
  return WithContext([&](Process& process, Context&) -> CUresult {
    const auto memory = FindManaged(process, pointer, size);
    if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
    absl::MutexLock lock(&advice_mutex);
    return body(process, memory->advice);
  });
}

using holdfast::cuda::ManagedBatch;
using Allocations = std::vector<std::shared_ptr<Allocation>>;

// Finds the memory of all ranges. CUDA_ERROR_INVALID_VALUE: one range is not
// managed memory.
CUresult FindAll(const Process& process, const ManagedBatch& batch,
                 Allocations* memory) {
  for (const auto& range : batch) {
    memory->push_back(FindManaged(process, range.address, range.size));
    if (memory->back() == nullptr) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// Prefetches all ranges, or none.
CUresult PrefetchAll(const ManagedBatch& batch, CUstream stream) {
  return WithStream(stream, [&](Process& process, Stream&) {
    Allocations memory;
    CUresult result = FindAll(process, batch, &memory);
    const int devices = DeviceCount(process);
    for (size_t i = 0; i < batch.size() && result == CUDA_SUCCESS; ++i) {
      result = holdfast::cuda::MemoryAdvice().Prefetch(batch[i].place, devices);
    }
    if (result != CUDA_SUCCESS) return result;
    absl::MutexLock lock(&advice_mutex);
    for (size_t i = 0; i < batch.size(); ++i) {
      memory[i]->advice.Prefetch(batch[i].place, devices);
    }
    return CUDA_SUCCESS;
  });
}

// Discards all ranges, or none. The bytes stay, as the call allows.
CUresult DiscardAll(const ManagedBatch& batch, CUstream stream) {
  return WithStream(stream, [&](Process& process, Stream&) {
    Allocations memory;
    return FindAll(process, batch, &memory);
  });
}

}  // namespace

#include "core/cuda/managed_batch.inc"

extern "C" {

CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t size, unsigned flags) {
  return WithContext([&](Process& process, Context& context) -> CUresult {
    if (pointer == nullptr || size == 0 ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult unsafe = CheckUnsafeCall(process);
    if (unsafe != CUDA_SUCCESS) return unsafe;
    return AllocateShared(process, context, /*pool=*/nullptr,
                          /*is_managed=*/true, size, pointer);
  });
}

// It makes no difference which stream uses managed memory: the program and
// kernels may use it at any time.
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr pointer,
                                size_t length, unsigned flags) {
  return WithStream(stream, [&](Process& process, Stream&) {
    const bool is_known = flags == CU_MEM_ATTACH_GLOBAL ||
                          flags == CU_MEM_ATTACH_HOST ||
                          flags == CU_MEM_ATTACH_SINGLE;
    const auto memory = process.memory.Find(pointer);
    return is_known && memory != nullptr && memory->is_managed &&
                   length <= memory->address + memory->size - pointer
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemAdvise_v2(CUdeviceptr pointer, size_t size, CUmem_advise hint,
                        CUmemLocation location) {
  return WithAdvice(pointer, size, [&](Process& process, auto& advice) {
    return advice.Set(hint, location, DeviceCount(process));
  });
}

CUresult cuMemRangeGetAttribute(void* data, size_t data_size,
                                CUmem_range_attribute attribute,
                                CUdeviceptr pointer, size_t size) {
  return WithAdvice(pointer, size, [&](Process&, const auto& advice) {
    return advice.Get(attribute, data, data_size);
  });
}

CUresult cuMemRangeGetAttributes(void** data, size_t* data_sizes,
                                 CUmem_range_attribute* attributes,
                                 size_t count, CUdeviceptr pointer,
                                 size_t size) {
  return WithAdvice(pointer, size, [&](Process&, const auto& advice) {
    return advice.GetAll(data, data_sizes, attributes, count);
  });
}

}  // extern "C"
