// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/memory_pool.h"

#include <algorithm>
#include <cstring>

namespace holdfast::libcuda {
namespace {

template <typename T>
CUresult Store(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
  return CUDA_SUCCESS;
}

template <typename T>
T Load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

bool MemoryPool::HasAccess(int ordinal) const {
  if (kind_ == Kind::kDevice && ordinal == ordinal_) return true;
  absl::MutexLock lock(&mutex_);
  const auto found = access_.find(ordinal);
  return found != access_.end() && found->second;
}

void MemoryPool::SetAccess(int ordinal, bool has_access) {
  absl::MutexLock lock(&mutex_);
  access_[ordinal] = has_access;
}

bool MemoryPool::Take(uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (max_size_ != 0 && (bytes > max_size_ || used_ > max_size_ - bytes)) {
    return false;
  }
  used_ += bytes;
  most_used_ = std::max(most_used_, used_);
  return true;
}

void MemoryPool::Return(uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  used_ -= bytes;
}

CUresult MemoryPool::Get(CUmemPool_attribute attribute, void* value) const {
  absl::MutexLock lock(&mutex_);
  const auto reuse = reuse_.find(attribute);
  if (reuse != reuse_.end()) return Store<int>(value, reuse->second);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return Store<cuuint64_t>(value, release_threshold_);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return Store<cuuint64_t>(value, used_);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return Store<cuuint64_t>(value, most_used_);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult MemoryPool::Set(CUmemPool_attribute attribute, const void* value) {
  absl::MutexLock lock(&mutex_);
  const auto reuse = reuse_.find(attribute);
  if (reuse != reuse_.end()) {
    reuse->second = Load<int>(value);
    return CUDA_SUCCESS;
  }
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      release_threshold_ = Load<cuuint64_t>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      // Only to be set back.
      if (Load<cuuint64_t>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      most_used_ = used_;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace holdfast::libcuda
