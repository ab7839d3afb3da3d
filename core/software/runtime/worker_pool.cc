// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/worker_pool.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/numbers.h"

namespace holdfast::software {
namespace {

constexpr int kMaxThreads = 1024;

int ThreadCount() {
  int threads = 0;
  const char* setting = std::getenv("HOLDFAST_SOFTWARE_THREADS");
  if (setting == nullptr || !absl::SimpleAtoi(setting, &threads) ||
      threads < 1) {
    threads = static_cast<int>(std::thread::hardware_concurrency());
  }
  return std::clamp(threads, 1, kMaxThreads);
}

}  // namespace

WorkerPool& WorkerPool::Get() {
  static auto& pool = *new WorkerPool(ThreadCount());
  return pool;
}

WorkerPool::WorkerPool(int threads) {
  for (int i = 1; i < threads; ++i) {
    workers_.emplace_back([this] { Work(); });
  }
}

void WorkerPool::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    added_.wait(lock, [this] { return !jobs_.empty(); });
    // Taken in turn, so that concurrent streams share the workers.
    Job* job = jobs_.front();
    jobs_.splice(jobs_.end(), jobs_, jobs_.begin());
    ++job->running;
    lock.unlock();
    (*job->function)();
    lock.lock();
    // It returned because nothing was left to do.
    if (job->posted) jobs_.remove(job);
    job->posted = false;
    if (--job->running == 0) left_.notify_all();
  }
}

void WorkerPool::Post(Job* job, int wanted) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (job->posted) return;
    job->posted = true;
    jobs_.push_back(job);
  }
  if (wanted >= threads() - 1) {
    added_.notify_all();
  } else {
    for (int i = 0; i < wanted; ++i) added_.notify_one();
  }
}

void WorkerPool::Withdraw(Job* job) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (job->posted) jobs_.remove(job);
  job->posted = false;
  left_.wait(lock, [job] { return job->running == 0; });
}

void WorkerPool::Run(const std::function<void()>& job) {
  Job entry{&job};
  Post(&entry, threads() - 1);
  job();
  Withdraw(&entry);
}

}  // namespace holdfast::software
