// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/shared_executors.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast::supervisor {

absl::StatusOr<std::unique_ptr<Executor>> SharedExecutors::Take(
    const Concurrency& concurrency, const std::vector<uint32_t>& devices,
    absl::Time deadline) {
  HOLDFAST_ASSIGN_OR_RETURN(const MpsServers::Pipes pipes,
                            servers_.PipeDirectory(concurrency));
  return PoolOf(concurrency, pipes, devices.front())->Take(devices, deadline);
}

std::shared_ptr<ExecutorPool> SharedExecutors::PoolOf(
    const Concurrency& concurrency, const MpsServers::Pipes& pipes,
    uint32_t device) {
  Pool stale;  // Ended outside the lock.
  absl::MutexLock lock(&mutex_);
  Pool& pool = pools_[concurrency];
  if (pool.executors != nullptr && *pool.pipes == *pipes) {
    return pool.executors;
  }
  AddToEnded(concurrency.group, pool);
  stale = std::exchange(pool, {pipes, MakePool(concurrency, pipes, device)});
  for (const uint32_t other : unusable_) {
    pool.executors->SetUsable(other, false);
  }
  return pool.executors;
}

std::shared_ptr<ExecutorPool> SharedExecutors::MakePool(
    const Concurrency& concurrency, const MpsServers::Pipes& pipes,
    uint32_t device) const {
  Start start = {
      .group = concurrency.group,
      .pipes = pipes,
      .environment = {absl::StrCat("CUDA_MPS_PIPE_DIRECTORY=", *pipes),
                      absl::StrCat("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=",
                                   concurrency.thread_percentage)}};
  return std::make_shared<ExecutorPool>(
      ExecutorPool::Options{.start =
                                [this, start = std::move(start)](uint32_t on) {
                                  Start on_device = start;
                                  on_device.device = on;
                                  return start_(on_device);
                                },
                            .warm = warm_,
                            .first_device = device});
}

void SharedExecutors::AddToEnded(const std::string& group, const Pool& pool) {
  ExecutorPool::Statistics& ended = ended_[group];
  if (pool.executors == nullptr) return;
  ended += pool.executors->statistics();
  ended.waiting = 0;
  ended.failing = false;
}

std::map<std::string, ExecutorPool::Statistics> SharedExecutors::statistics()
    const {
  absl::MutexLock lock(&mutex_);
  std::map<std::string, ExecutorPool::Statistics> by_group = ended_;
  for (const auto& [concurrency, pool] : pools_) {
    by_group[concurrency.group] += pool.executors->statistics();
  }
  return by_group;
}

void SharedExecutors::SetUsable(uint32_t device, bool usable) {
  absl::MutexLock lock(&mutex_);
  if (usable) {
    unusable_.erase(device);
  } else {
    unusable_.insert(device);
  }
  for (const auto& [concurrency, pool] : pools_) {
    pool.executors->SetUsable(device, usable);
  }
}

void SharedExecutors::Retain(const std::vector<Concurrency>& tenants) {
  // Ended outside the lock; a call of Take that is in one holds its pool.
  std::vector<Pool> unwanted;
  absl::MutexLock lock(&mutex_);
  for (auto it = pools_.begin(); it != pools_.end();) {
    const auto entry = it++;
    if (std::find(tenants.begin(), tenants.end(), entry->first) !=
        tenants.end()) {
      continue;
    }
    AddToEnded(entry->first.group, entry->second);
    unwanted.push_back(std::move(entry->second));
    pools_.erase(entry);
  }
  std::erase_if(ended_, [&](const auto& ended) {
    return std::none_of(
        tenants.begin(), tenants.end(),
        [&](const Concurrency& tenant) { return tenant.group == ended.first; });
  });
}

}  // namespace holdfast::supervisor
