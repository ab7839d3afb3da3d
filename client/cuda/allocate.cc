// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/allocate.h"

#include <utility>

#include "client/cuda/answer.h"

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

CUresult AllocateDevice(Process& process, Context& context,
                        const AllocationOrder& order, size_t size,
                        CUdeviceptr* pointer) {
  if (pointer == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  auto allocation = NewAllocation(context, size);
  HOLDFAST_ANSWER_OR_ASSIGN(
      allocation->buffer, order.stream == nullptr
                              ? context.device().Allocate(size)
                              : context.device().Allocate(size, *order.stream));
  HOLDFAST_ANSWER_OR_ASSIGN(allocation->address, allocation->buffer->address());
  if (order.pool != nullptr) {
    allocation->pool = order.pool;
    order.pool->Taken(size);
  }
  *pointer = allocation->address;
  process.memory.Add(std::move(allocation));
  return CUDA_SUCCESS;
}

bool IsFreeable(const Allocation& memory) {
  return memory.is_managed || (!memory.is_host() && !memory.is_of_graph &&
                               !memory.is_borrowed && memory.module == nullptr);
}

}  // namespace holdfast::libcuda
