// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/memory_pool.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/software/base/mutex.h"

namespace holdfast::software {

class MemoryPool::Loan : public Backing {
 public:
  Loan(std::shared_ptr<MemoryPool> pool, std::unique_ptr<Block> block)
      : pool_(std::move(pool)), block_(std::move(block)) {}
  ~Loan() override { pool_->TakeBack(std::move(block_)); }

  const Block* block() const { return block_.get(); }

 private:
  const std::shared_ptr<MemoryPool> pool_;
  std::unique_ptr<Block> block_;
};

const Block* MemoryPool::BlockOf(
    const std::shared_ptr<Backing>& backing) const {
  return imported_ ? nullptr : static_cast<const Loan&>(*backing).block();
}

CUresult MemoryPool::Allocate(size_t size, uintptr_t* address,
                              std::shared_ptr<Backing>* backing) {
  if (imported_) return CUDA_ERROR_INVALID_VALUE;
  std::unique_ptr<Block> block;
  {
    MutexLock lock(&mutex_);
    if (max_size_ != 0 && (size > max_size_ || used_ > max_size_ - size)) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    used_ += size;
    if (const auto it = kept_.find(size); it != kept_.end()) {
      block = std::move(it->second);
      kept_.erase(it);
    }
  }
  const bool reused = block != nullptr;
  if (!reused) {
    const bool of_host = kind_ == MemoryKind::kHostPool;
    const auto create = [&] {
      return Block::Create(
          size, of_host ? Block::Place::kStart : Block::Place::kEnd,
          of_host ? nullptr : &device_.memory(), fd_.get(), &block);
    };
    CUresult result = create();
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      TrimTo(0);
      result = create();
    }
    if (result != CUDA_SUCCESS) {
      MutexLock lock(&mutex_);
      used_ -= size;
      return result;
    }
  }
  *address = block->address();
  {
    MutexLock lock(&mutex_);
    if (!reused) reserved_ += block->mapped_size();
    used_ += block->mapped_size() - size;
    reserved_high_ = std::max(reserved_high_, reserved_);
    used_high_ = std::max(used_high_, used_);
  }
  *backing = std::make_shared<Loan>(shared_from_this(), std::move(block));
  return CUDA_SUCCESS;
}

void MemoryPool::SetAccess(CUdevice device, CUmemAccess_flags flags) {
  MutexLock lock(&mutex_);
  access_[device] = flags;
}

CUmemAccess_flags MemoryPool::GetAccess(CUdevice device) const {
  if (kind_ == MemoryKind::kPool && device == device_.ordinal()) {
    return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  MutexLock lock(&mutex_);
  const auto it = access_.find(device);
  return it == access_.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : it->second;
}

void MemoryPool::TakeBack(std::unique_ptr<Block> block) {
  MutexLock lock(&mutex_);
  used_ -= block->mapped_size();
  if (reserved_ <= threshold_) {
    const size_t size = block->size();
    kept_.emplace(size, std::move(block));
  } else {
    reserved_ -= block->mapped_size();
    block.reset();
  }
}

void MemoryPool::TrimTo(size_t bytes) {
  MutexLock lock(&mutex_);
  while (reserved_ > bytes && !kept_.empty()) {
    reserved_ -= kept_.begin()->second->mapped_size();
    kept_.erase(kept_.begin());
  }
}

CUresult MemoryPool::GetAttribute(CUmemPool_attribute attribute,
                                  void* value) const {
  MutexLock lock(&mutex_);
  const auto bytes = [&](uint64_t number) {
    *static_cast<cuuint64_t*>(value) = number;
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      *static_cast<int*>(value) = reuse_[attribute - 1];
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return bytes(threshold_);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return bytes(reserved_);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return bytes(reserved_high_);
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return bytes(used_);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return bytes(used_high_);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult MemoryPool::SetAttribute(CUmemPool_attribute attribute,
                                  const void* value) {
  MutexLock lock(&mutex_);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      reuse_[attribute - 1] = *static_cast<const int*>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      threshold_ = *static_cast<const cuuint64_t*>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: {
      // A high-water mark can only be started anew.
      if (*static_cast<const cuuint64_t*>(value) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      const bool used = attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
      (used ? used_high_ : reserved_high_) = used ? used_ : reserved_;
      return CUDA_SUCCESS;
    }
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace holdfast::software
