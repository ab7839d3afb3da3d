// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/allocate.h"

#include <sys/mman.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cuda/answer.h"
#include "core/base/status_macros.h"

namespace holdfast::libcuda {

std::shared_ptr<Allocation> NewAllocation(const Context& context,
                                          uint64_t size) {
  auto allocation = std::make_shared<Allocation>();
  allocation->size = size;
  allocation->context_id = context.id();
  allocation->context = context.handle();
  allocation->ordinal = context.ordinal();
  return allocation;
}

namespace {

// Counts the allocation's bytes in the pool, unless it is null.
absl::Status TakeFrom(std::shared_ptr<MemoryPool> pool,
                      Allocation& allocation) {
  if (pool == nullptr) return absl::OkStatus();
  if (!pool->Take(allocation.size)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        allocation.size, " bytes are more than the pool has room for"));
  }
  allocation.pool = std::move(pool);
  return absl::OkStatus();
}

}  // namespace

CUresult AllocateDevice(Process& process, Context& context,
                        const AllocationOrder& order, size_t size,
                        CUdeviceptr* pointer) {
  if (pointer == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  auto allocation = NewAllocation(context, size);
  HOLDFAST_ANSWER_IF_ERROR(TakeFrom(order.pool, *allocation));
  HOLDFAST_ANSWER_OR_ASSIGN(
      allocation->buffer, order.stream == nullptr
                              ? context.device().Allocate(size)
                              : context.device().Allocate(size, *order.stream));
  HOLDFAST_ANSWER_OR_ASSIGN(allocation->address, allocation->buffer->address());
  *pointer = allocation->address;
  process.memory.Add(std::move(allocation));
  return CUDA_SUCCESS;
}

namespace {

// FAILED_PRECONDITION: the daemon is on another machine.
absl::Status AllocateSpan(Process& process, Allocation& allocation) {
  const bool is_shared = allocation.pool != nullptr &&
                         allocation.pool->sharing().pinned != nullptr;
  PinnedMemory& pinned =
      is_shared ? *allocation.pool->sharing().pinned : process.pinned();
  HOLDFAST_ASSIGN_OR_RETURN(holdfast::ArenaSpan span,
                            pinned.Allocate(allocation.size));
  allocation.address = reinterpret_cast<uint64_t>(span.data());
  allocation.span = std::move(span);
  return absl::OkStatus();
}

}  // namespace

CUresult AllocateShared(Process& process, Allocation& allocation) {
  const absl::Status status = AllocateSpan(process, allocation);
  return absl::IsFailedPrecondition(status) ? CUDA_ERROR_NOT_SUPPORTED
                                            : Answer(status);
}

CUresult AllocateShared(Process& process, const Context& context,
                        std::shared_ptr<MemoryPool> pool, bool is_managed,
                        size_t size, CUdeviceptr* pointer) {
  auto allocation = NewAllocation(context, size);
  HOLDFAST_ANSWER_IF_ERROR(TakeFrom(std::move(pool), *allocation));
  const CUresult result = AllocateShared(process, *allocation);
  if (result != CUDA_SUCCESS) return result;
  allocation->is_managed = is_managed;
  *pointer = allocation->address;
  process.memory.Add(std::move(allocation));
  return CUDA_SUCCESS;
}

CUresult AllocatePinned(Process& process, Allocation& allocation) {
  const absl::Status status = AllocateSpan(process, allocation);
  if (!absl::IsFailedPrecondition(status)) return Answer(status);
  void* mapped = mmap(nullptr, allocation.size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  allocation.mapped = mapped;
  allocation.address = reinterpret_cast<uint64_t>(mapped);
  return CUDA_SUCCESS;
}

bool IsFreeable(const Allocation& memory) {
  if (memory.is_of_graph) return false;
  if (memory.is_host() && memory.pool != nullptr) return true;
  return memory.is_managed ||
         (!memory.is_host() && !memory.is_borrowed && memory.module == nullptr);
}

}  // namespace holdfast::libcuda
