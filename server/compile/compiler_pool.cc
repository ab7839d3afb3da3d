// SPDX-License-Identifier: Apache-2.0
#include "server/compile/compiler_pool.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::Status CompilerPool::Prestart() {
  HOLDFAST_ASSIGN_OR_RETURN(auto worker, Acquire());
  Release(std::move(worker));
  return absl::OkStatus();
}

std::string CompilerPool::backend() const {
  absl::MutexLock lock(&mutex_);
  return backend_;
}

absl::StatusOr<std::string> CompilerPool::Identity() {
  if (backend().empty()) HOLDFAST_RETURN_IF_ERROR(Prestart());
  absl::MutexLock lock(&mutex_);
  return identity_;
}

absl::StatusOr<CompilerWorker::Result> CompilerPool::Run(
    const internal::ToCompiler& job, int fd) {
  HOLDFAST_ASSIGN_OR_RETURN(auto worker, Acquire());
  auto result = worker->Run(job, fd, options_.time_limit);
  if (worker->lost()) {
    LogWarning("compiler worker lost: ", result.status().message());
  }
  Release(std::move(worker));
  return result;
}

absl::StatusOr<std::unique_ptr<CompilerWorker>> CompilerPool::Acquire() {
  std::unique_ptr<CompilerWorker> worker;
  {
    absl::MutexLock lock(&mutex_);
    const auto free = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return busy_ < options_.workers;
    };
    if (!free() && queued_ >= options_.max_queue) {
      return absl::ResourceExhaustedError(
          absl::StrCat(queued_, " requests wait for a compiler, the limit is ",
                       options_.max_queue, "; try again later"));
    }
    ++queued_;
    mutex_.Await(absl::Condition(&free));
    --queued_;
    ++busy_;
    // One that was killed while it was idle is dropped.
    while (!idle_.empty() && (worker == nullptr || !worker->usable())) {
      worker = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (worker != nullptr && worker->usable()) return worker;
  auto started = Start();
  if (!started.ok()) Release(nullptr);
  return started;
}

absl::StatusOr<std::unique_ptr<CompilerWorker>> CompilerPool::Start() {
  HOLDFAST_ASSIGN_OR_RETURN(auto process, options_.start());
  HOLDFAST_ASSIGN_OR_RETURN(auto worker,
                            CompilerWorker::Create(std::move(process)));
  absl::MutexLock lock(&mutex_);
  backend_ = worker->backend();
  identity_ = worker->identity();
  return worker;
}

void CompilerPool::Release(std::unique_ptr<CompilerWorker> worker) {
  absl::MutexLock lock(&mutex_);
  --busy_;
  if (worker != nullptr && worker->usable()) {
    idle_.push_back(std::move(worker));
  }
}

}  // namespace holdfast
