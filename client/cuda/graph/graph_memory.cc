// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/graph_memory.h"

#include <algorithm>
#include <utility>

#include "client/cuda/answer.h"

namespace holdfast::libcuda {

GraphAllocation::~GraphAllocation() {
  GraphMemory::Get().Forget(*this);
  Process::Get().memory.Remove(
      memory_->address,
      [this](const Allocation& found) { return &found == memory_.get(); });
}

GraphMemory& GraphMemory::Get() {
  static GraphMemory& memory = *new GraphMemory;
  return memory;
}

CUresult GraphMemory::Create(Process& process, int ordinal, size_t size,
                             std::shared_ptr<GraphAllocation>* allocation) {
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  const uint32_t device =
      process.session().devices()[static_cast<size_t>(ordinal)];
  auto memory = std::make_shared<Allocation>();
  memory->size = size;
  memory->context = CurrentContext();
  memory->ordinal = ordinal;
  memory->is_of_graph = true;
  HOLDFAST_ANSWER_OR_ASSIGN(memory->buffer,
                            process.session().device(device).Allocate(size));
  HOLDFAST_ANSWER_OR_ASSIGN(memory->address, memory->buffer->address());
  process.memory.Add(memory);
  *allocation = std::make_shared<GraphAllocation>(std::move(memory));
  absl::MutexLock lock(&mutex_);
  all_[(*allocation)->address()] = *allocation;
  Account& account = accounts_[ordinal];
  account.reserved += size;
  account.reserved_high = std::max(account.reserved_high, account.reserved);
  return CUDA_SUCCESS;
}

std::shared_ptr<GraphAllocation> GraphMemory::Find(uint64_t address) const {
  absl::MutexLock lock(&mutex_);
  const auto found = all_.find(address);
  return found == all_.end() ? nullptr : found->second.lock();
}

void GraphMemory::Forget(const GraphAllocation& allocation) {
  absl::MutexLock lock(&mutex_);
  all_.erase(allocation.address());
  accounts_[allocation.ordinal()].reserved -= allocation.size();
}

void GraphMemory::Take(const std::shared_ptr<GraphAllocation>& allocation) {
  allocation->is_outstanding_ = true;
  outstanding_[allocation->address()] = allocation;
  accounts_[allocation->ordinal()].used += allocation->size();
}

std::shared_ptr<GraphAllocation> GraphMemory::Return(
    GraphAllocation& allocation) {
  allocation.is_outstanding_ = false;
  accounts_[allocation.ordinal()].used -= allocation.size();
  auto node = outstanding_.extract(allocation.address());
  return node.empty() ? nullptr : std::move(node.mapped());
}

CUresult GraphMemory::Begin(const LaunchAllocations& allocations,
                            bool auto_free) {
  LaunchAllocations::List returned;  // dropped without the lock
  absl::MutexLock lock(&mutex_);
  for (const auto& kept : allocations.kept) {
    if (kept->is_outstanding_ && !auto_free) return CUDA_ERROR_INVALID_VALUE;
  }
  for (const auto& freed : allocations.freed) {
    if (!freed->is_outstanding_) return CUDA_ERROR_INVALID_VALUE;
  }
  for (const auto& kept : allocations.kept) {
    if (kept->is_outstanding_) returned.push_back(Return(*kept));
    Take(kept);
  }
  std::map<int, uint64_t> temporary;
  for (const auto& allocation : allocations.temporary) {
    temporary[allocation->ordinal()] += allocation->size();
  }
  for (auto& [ordinal, account] : accounts_) {
    account.used_high =
        std::max(account.used_high, account.used + temporary[ordinal]);
  }
  for (const auto& freed : allocations.freed) {
    returned.push_back(Return(*freed));
  }
  return CUDA_SUCCESS;
}

CUresult GraphMemory::Free(GraphAllocation& allocation) {
  std::shared_ptr<GraphAllocation> last;  // dropped without the lock
  absl::MutexLock lock(&mutex_);
  if (!allocation.is_outstanding_) return CUDA_ERROR_INVALID_VALUE;
  last = Return(allocation);
  return CUDA_SUCCESS;
}

CUresult GraphMemory::GetAttribute(int ordinal, CUgraphMem_attribute attribute,
                                   cuuint64_t* value) const {
  absl::MutexLock lock(&mutex_);
  const auto found = accounts_.find(ordinal);
  const Account account = found == accounts_.end() ? Account{} : found->second;
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
      *value = account.used;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      *value = account.used_high;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      *value = account.reserved;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      *value = account.reserved_high;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult GraphMemory::SetAttribute(int ordinal, CUgraphMem_attribute attribute,
                                   cuuint64_t value) {
  if (value != 0) return CUDA_ERROR_INVALID_VALUE;
  absl::MutexLock lock(&mutex_);
  Account& account = accounts_[ordinal];
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      account.used_high = account.used;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      account.reserved_high = account.reserved;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace holdfast::libcuda
