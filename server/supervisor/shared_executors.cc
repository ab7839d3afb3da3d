// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/shared_executors.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::StatusOr<std::unique_ptr<Executor>> SharedExecutors::Take(
    const Concurrency& concurrency, const std::vector<uint32_t>& devices,
    absl::Time deadline) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string pipes,
                            servers_.PipeDirectory(concurrency));
  return PoolOf(concurrency, pipes)->Take(devices, deadline);
}

std::shared_ptr<ExecutorPool> SharedExecutors::PoolOf(
    const Concurrency& concurrency, const std::string& pipe_directory) {
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<ExecutorPool>& pool = pools_[concurrency];
  if (pool != nullptr) return pool;
  Start start = {
      .group = concurrency.group,
      .pipe_directory = pipe_directory,
      .environment = {absl::StrCat("CUDA_MPS_PIPE_DIRECTORY=", pipe_directory),
                      absl::StrCat("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=",
                                   concurrency.thread_percentage)}};
  pool = std::make_shared<ExecutorPool>(ExecutorPool::Options{
      .start =
          [this, start = std::move(start)](uint32_t device) {
            Start on_device = start;
            on_device.device = device;
            return start_(on_device);
          },
      .warm = warm_});
  return pool;
}

void SharedExecutors::Retain(const std::vector<Concurrency>& tenants) {
  // Ended outside the lock; a call of Take that is in one holds its pool.
  std::vector<std::shared_ptr<ExecutorPool>> unwanted;
  absl::MutexLock lock(&mutex_);
  for (auto it = pools_.begin(); it != pools_.end();) {
    const auto entry = it++;
    if (std::find(tenants.begin(), tenants.end(), entry->first) !=
        tenants.end()) {
      continue;
    }
    unwanted.push_back(std::move(entry->second));
    pools_.erase(entry);
  }
}

}  // namespace holdfast
