// SPDX-License-Identifier: Apache-2.0
//
// Memory of a device for a program, in or out of a stream's order.
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

// An allocation of the context, without memory yet.
std::shared_ptr<Allocation> NewAllocation(const Context& context,
                                          uint64_t size);

// Options of an allocation. `stream` orders the allocation; null: it has no
// order. `pool` counts the bytes; null: no pool counts them.
struct AllocationOrder {
  const holdfast::Stream* stream = nullptr;
  std::shared_ptr<MemoryPool> pool = nullptr;
};

// Costs one round trip: for the address, and for the error if there is no
// memory. CUDA_ERROR_OUT_OF_MEMORY: also for a pool that has no room.
CUresult AllocateDevice(Process& process, Context& context,
                        const AllocationOrder& order, size_t size,
                        CUdeviceptr* pointer);

// Allocates pinned memory of this process, which kernels reach at the same
// address. `pool` counts the bytes; null: no pool counts them.
// CUDA_ERROR_NOT_SUPPORTED: the daemon is on another machine.
CUresult AllocateShared(Process& process, const Context& context,
                        std::shared_ptr<MemoryPool> pool, bool is_managed,
                        size_t size, CUdeviceptr* pointer);

// Gives the allocation pinned memory that only copies have to reach. Where the
// daemon is on another machine, it is ordinary memory, which nobody page-locks.
CUresult AllocatePinned(Process& process, Allocation& allocation);

// May cuMemFree end it? Not a module's variable, nor pinned memory of no pool,
// nor memory of a graph or of another process, nor memory at reserved
// addresses.
bool IsFreeable(const Allocation& memory);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_ALLOCATE_H_
