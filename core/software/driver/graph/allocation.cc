// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/graph/allocation.h"

#include <algorithm>
#include <utility>

#include "core/software/base/mutex.h"

namespace holdfast::software {

GraphAllocation::GraphAllocation(Device& device, MemoryKind kind,
                                 MemoryMap& map, std::unique_ptr<Block> block)
    : device_(device), kind_(kind), map_(map), block_(std::move(block)) {}

GraphAllocation::~GraphAllocation() {
  map_.Remove(address(), {kind_});
  GraphMemory::Get().Forget(*this);
}

GraphMemory& GraphMemory::Get() {
  static GraphMemory& memory = *new GraphMemory;
  return memory;
}

CUresult GraphMemory::Create(Device& device, MemoryKind kind, MemoryMap& map,
                             size_t size,
                             std::shared_ptr<GraphAllocation>* allocation) {
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (size > device.memory().total()) return CUDA_ERROR_OUT_OF_MEMORY;
  std::unique_ptr<Block> block;
  // Charged to no budget until it is launched.
  const CUresult result = Block::Create(
      size, IsHost(kind) ? Block::Place::kStart : Block::Place::kEnd, nullptr,
      /*fd=*/-1, &block);
  if (result != CUDA_SUCCESS) return result;
  *allocation =
      std::make_shared<GraphAllocation>(device, kind, map, std::move(block));
  Region region;
  region.address = (*allocation)->address();
  region.size = size;
  region.kind = kind;
  region.device = device.ordinal();
  map.Insert(std::move(region));
  MutexLock lock(&mutex_);
  all_[(*allocation)->address()] = *allocation;
  return CUDA_SUCCESS;
}

std::shared_ptr<GraphAllocation> GraphMemory::Find(uintptr_t address) {
  MutexLock lock(&mutex_);
  const auto it = all_.find(address);
  return it == all_.end() ? nullptr : it->second.lock();
}

void GraphMemory::Forget(GraphAllocation& allocation) {
  MutexLock lock(&mutex_);
  if (allocation.reserved_) {
    accounts_[allocation.device_.ordinal()].idle +=
        allocation.block_->mapped_size();
  }
  all_.erase(allocation.address());
}

CUresult GraphMemory::ReserveLocked(GraphAllocation& allocation) {
  if (allocation.reserved_ || IsHost(allocation.kind_)) return CUDA_SUCCESS;
  Account& account = accounts_[allocation.device_.ordinal()];
  const size_t bytes = allocation.block_->mapped_size();
  const uint64_t idle = std::min<uint64_t>(bytes, account.idle);
  if (!allocation.device_.memory().Take(bytes - idle)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  allocation.reserved_ = true;
  account.idle -= idle;
  account.reserved += bytes - idle;
  return CUDA_SUCCESS;
}

CUresult GraphMemory::ReserveAllLocked(const GraphAllocations& allocations) {
  std::vector<GraphAllocation*> reserved;
  for (const auto* list : {&allocations.kept, &allocations.temporary}) {
    for (const auto& allocation : *list) {
      const bool had = allocation->reserved_;
      const CUresult result = ReserveLocked(*allocation);
      if (result != CUDA_SUCCESS) {
        for (GraphAllocation* taken : reserved) ReleaseLocked(*taken);
        return result;
      }
      if (!had) reserved.push_back(allocation.get());
    }
  }
  for (const GraphAllocation* taken : reserved) {
    Account& account = accounts_[taken->device_.ordinal()];
    account.used_high = std::max(account.used_high, account.reserved);
    account.reserved_high = std::max(account.reserved_high, account.reserved);
  }
  return CUDA_SUCCESS;
}

void GraphMemory::ReleaseLocked(GraphAllocation& allocation) {
  if (!allocation.reserved_) return;
  const size_t bytes = allocation.block_->mapped_size();
  allocation.block_->Discard();
  allocation.reserved_ = false;
  allocation.device_.memory().Return(bytes);
  accounts_[allocation.device_.ordinal()].reserved -= bytes;
}

CUresult GraphMemory::Begin(const GraphAllocations& allocations,
                            bool auto_free) {
  MutexLock lock(&mutex_);
  for (const auto& kept : allocations.kept) {
    if (kept->outstanding_ && !auto_free) return CUDA_ERROR_INVALID_VALUE;
  }
  for (const auto& freed : allocations.freed) {
    if (!freed->outstanding_) return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult result = ReserveAllLocked(allocations);
  if (result != CUDA_SUCCESS) return result;
  for (const auto& kept : allocations.kept) {
    kept->outstanding_ = true;
    outstanding_[kept->address()] = kept;
  }
  for (const auto& freed : allocations.freed) {
    freed->outstanding_ = false;
    outstanding_.erase(freed->address());
  }
  return CUDA_SUCCESS;
}

void GraphMemory::Use(const GraphAllocations& allocations, const Ticket& end) {
  MutexLock lock(&mutex_);
  for (const auto* list :
       {&allocations.kept, &allocations.temporary, &allocations.freed}) {
    for (const auto& allocation : *list) allocation->last_use_ = end;
  }
}

CUresult GraphMemory::Free(GraphAllocation& allocation) {
  std::shared_ptr<GraphAllocation> last;  // goes without the lock
  MutexLock lock(&mutex_);
  const auto it = outstanding_.find(allocation.address());
  if (it == outstanding_.end()) return CUDA_ERROR_INVALID_VALUE;
  last = std::move(it->second);
  outstanding_.erase(it);
  allocation.outstanding_ = false;
  return CUDA_SUCCESS;
}

void GraphMemory::Trim(Device& device) {
  // Some may be the last references, which must go without the lock.
  std::vector<std::shared_ptr<GraphAllocation>> seen;
  MutexLock lock(&mutex_);
  for (const auto& [address, weak] : all_) {
    const std::shared_ptr<GraphAllocation> allocation = weak.lock();
    seen.push_back(allocation);
    if (allocation == nullptr || &allocation->device_ != &device ||
        allocation->outstanding_ || !allocation->last_use_.Done()) {
      continue;
    }
    ReleaseLocked(*allocation);
  }
  Account& account = accounts_[device.ordinal()];
  device.memory().Return(account.idle);
  account.reserved -= account.idle;
  account.idle = 0;
}

CUresult GraphMemory::GetAttribute(Device& device,
                                   CUgraphMem_attribute attribute,
                                   cuuint64_t* value) {
  MutexLock lock(&mutex_);
  const Account& account = accounts_[device.ordinal()];
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      *value = account.reserved;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      *value = account.used_high;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      *value = account.reserved_high;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult GraphMemory::SetAttribute(Device& device,
                                   CUgraphMem_attribute attribute,
                                   cuuint64_t value) {
  if (value != 0) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(&mutex_);
  Account& account = accounts_[device.ordinal()];
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      account.used_high = account.reserved;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      account.reserved_high = account.reserved;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace holdfast::software
