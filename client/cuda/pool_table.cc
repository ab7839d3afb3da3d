// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/pool_table.h"

#include <algorithm>
#include <utility>

namespace holdfast::libcuda {

PoolTable::PoolTable(int devices) : devices_(static_cast<size_t>(devices)) {
  for (int i = 0; i < devices; ++i) {
    defaults_.push_back(
        pools_.Add(std::make_shared<MemoryPool>(Kind::kDevice, i)));
  }
  for (const Kind kind : {Kind::kHost, Kind::kManaged}) {
    defaults_.push_back(pools_.Add(std::make_shared<MemoryPool>(kind, 0)));
  }
  absl::MutexLock lock(&mutex_);
  current_ = defaults_;
}

CUmemoryPool PoolTable::Add(std::shared_ptr<MemoryPool> pool) {
  return pools_.Add(std::move(pool));
}

std::shared_ptr<MemoryPool> PoolTable::Find(CUmemoryPool handle) const {
  return pools_.Find(handle);
}

CUmemoryPool PoolTable::HandleOf(const MemoryPool* pool) const {
  return pools_.HandleOf(pool);
}

bool PoolTable::Remove(CUmemoryPool handle) {
  if (std::count(defaults_.begin(), defaults_.end(), handle) > 0) return false;
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<MemoryPool> pool = pools_.Remove(handle);
  if (pool == nullptr) return false;
  const size_t place = Place(*pool);
  if (current_[place] == handle) current_[place] = defaults_[place];
  return true;
}

CUmemoryPool PoolTable::Default(Kind kind, int ordinal) const {
  return defaults_[Place(kind, ordinal)];
}

CUmemoryPool PoolTable::Current(Kind kind, int ordinal) const {
  absl::MutexLock lock(&mutex_);
  return current_[Place(kind, ordinal)];
}

bool PoolTable::SetCurrent(CUmemoryPool handle) {
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<MemoryPool> pool = pools_.Find(handle);
  if (pool == nullptr) return false;
  current_[Place(*pool)] = handle;
  return true;
}

size_t PoolTable::Place(Kind kind, int ordinal) const {
  switch (kind) {
    case Kind::kDevice:
      return static_cast<size_t>(ordinal);
    case Kind::kHost:
      return devices_;
    case Kind::kManaged:
      break;
  }
  return devices_ + 1;
}

}  // namespace holdfast::libcuda
