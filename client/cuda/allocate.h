// SPDX-License-Identifier: Apache-2.0
//
// Allocates device memory for a program, in or out of a stream's order, and
// pinned memory.
#ifndef HOLDFAST_CLIENT_CUDA_ALLOCATE_H_
#define HOLDFAST_CLIENT_CUDA_ALLOCATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "client/cpp/stream.h"
#include "client/cuda/context.h"
#include "client/cuda/memory_map.h"
#include "client/cuda/memory_pool.h"
#include "client/cuda/process.h"
#include "cuda.h"

namespace holdfast::libcuda {

// Returns an allocation of the context, without memory yet.
std::shared_ptr<Allocation> NewAllocation(const Context& context,
                                          uint64_t size);

// Options of an allocation. `stream` orders the allocation; null: it has no
// order. `pool` counts the bytes; null: no pool counts them.
struct AllocationOrder {
  const holdfast::Stream* stream = nullptr;
  std::shared_ptr<MemoryPool> pool = nullptr;
};

// Allocates device memory, adds it to process.memory, and sets *pointer to its
// address. Waits for one round trip. CUDA_ERROR_OUT_OF_MEMORY: the device or
// the pool has no room.
CUresult AllocateDevice(Process& process, Context& context,
                        const AllocationOrder& order, size_t size,
                        CUdeviceptr* pointer);

// Allocates pinned memory of this process, which kernels reach at the same
// address. `pool` counts the bytes; null: no pool counts them.
// CUDA_ERROR_NOT_SUPPORTED: the daemon is on another machine.
CUresult AllocateShared(Process& process, const Context& context,
                        std::shared_ptr<MemoryPool> pool, bool is_managed,
                        size_t size, CUdeviceptr* pointer);

// Gives an allocation pinned memory of this process, which kernels reach at the
// same address. CUDA_ERROR_NOT_SUPPORTED: the daemon is on another machine.
CUresult AllocateShared(Process& process, Allocation& allocation);

// Gives the allocation pinned memory for copies. If the daemon is on another
// machine, it is ordinary memory, which kernels cannot use and which is not
// page-locked.
CUresult AllocatePinned(Process& process, Allocation& allocation);

// Returns true if cuMemFree can free the memory. It can free managed memory,
// pinned memory of a pool, and buffers. It cannot free memory of graphs, nor
// buffers that are variables of modules, memory of other processes, or memory
// at reserved addresses.
bool IsFreeable(const Allocation& memory);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_ALLOCATE_H_
