// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/graph/graph_memory.h"

#include <algorithm>
#include <utility>

#include "client/cuda/allocate.h"
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

namespace {

CUresult AllocateBuffer(Process& process, Allocation& memory) {
  const uint32_t device = process.connection()
                              .session()
                              .devices()[static_cast<size_t>(memory.ordinal)];
  HOLDFAST_ANSWER_OR_ASSIGN(
      memory.buffer,
      process.connection().session().device(device).Allocate(memory.size));
  HOLDFAST_ANSWER_OR_ASSIGN(memory.address, memory.buffer->address());
  return CUDA_SUCCESS;
}

}  // namespace

CUresult GraphMemory::Create(Process& process, MemoryPool::Kind kind,
                             int ordinal, size_t size,
                             std::shared_ptr<GraphAllocation>* allocation) {
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  const bool is_pinned = kind != MemoryPool::Kind::kDevice;
  if (!is_pinned) {
    absl::ReleasableMutexLock lock(&mutex_);
    const Memory replaced = TakeIdle(accounts_[ordinal], size);
    lock.Release();
  }
  auto memory = std::make_shared<Allocation>();
  memory->size = size;
  memory->context = CurrentContext();
  memory->ordinal = ordinal;
  memory->is_of_graph = true;
  memory->is_managed = kind == MemoryPool::Kind::kManaged;
  const CUresult result = is_pinned ? AllocateShared(process, *memory)
                                    : AllocateBuffer(process, *memory);
  if (result != CUDA_SUCCESS) return result;
  process.memory.Add(memory);
  *allocation = std::make_shared<GraphAllocation>(std::move(memory));
  absl::MutexLock lock(&mutex_);
  all_[(*allocation)->address()] = *allocation;
  if (is_pinned) return CUDA_SUCCESS;
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
  if (allocation.is_pinned()) return;
  Account& account = accounts_[allocation.ordinal()];
  if (allocation.is_used_) {
    account.idle.push_back(allocation.memory_);
  } else {
    account.reserved -= allocation.size();
  }
}

GraphMemory::Memory GraphMemory::TakeIdle(Account& account, uint64_t bytes) {
  Memory taken;
  uint64_t size = 0;
  for (const auto& memory : account.idle) {
    if (size >= bytes) break;
    size += memory->size;
    taken.push_back(memory);
  }
  account.idle.erase(account.idle.begin(),
                     account.idle.begin() +
                         static_cast<Memory::difference_type>(taken.size()));
  account.used -= size;
  account.reserved -= size;
  return taken;
}

void GraphMemory::Use(GraphAllocation& allocation) {
  if (allocation.is_pinned() || std::exchange(allocation.is_used_, true)) {
    return;
  }
  Account& account = accounts_[allocation.ordinal()];
  account.used += allocation.size();
  account.used_high = std::max(account.used_high, account.used);
}

void GraphMemory::Take(const std::shared_ptr<GraphAllocation>& allocation) {
  Use(*allocation);
  allocation->is_outstanding_ = true;
  outstanding_[allocation->address()] = allocation;
}

std::shared_ptr<GraphAllocation> GraphMemory::Return(
    GraphAllocation& allocation) {
  allocation.is_outstanding_ = false;
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
  for (const auto& allocation : allocations.temporary) Use(*allocation);
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

void GraphMemory::Trim(int ordinal) {
  Memory idle;  // dropped without the lock, as are the last references
  std::vector<std::shared_ptr<GraphAllocation>> seen;
  absl::MutexLock lock(&mutex_);
  Account& account = accounts_[ordinal];
  idle = TakeIdle(account, UINT64_MAX);
  for (const auto& [address, weak] : all_) {
    const auto& allocation = seen.emplace_back(weak.lock());
    if (allocation == nullptr || allocation->ordinal() != ordinal ||
        allocation->is_outstanding_) {
      continue;
    }
    if (std::exchange(allocation->is_used_, false)) {
      account.used -= allocation->size();
    }
  }
}

CUresult GraphMemory::GetAttribute(int ordinal, CUgraphMem_attribute attribute,
                                   cuuint64_t* value) const {
  absl::MutexLock lock(&mutex_);
  const auto found = accounts_.find(ordinal);
  static const Account& none = *new Account;
  const Account& account = found == accounts_.end() ? none : found->second;
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
