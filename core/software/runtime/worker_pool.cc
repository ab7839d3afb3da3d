// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/worker_pool.h"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/numbers.h"

namespace holdfast::software {
namespace {

constexpr int kMaxThreads = 1024;

int ConfiguredThreads() {
  const char* setting = std::getenv("HOLDFAST_SOFTWARE_THREADS");
  int threads = 0;
  if (setting != nullptr && absl::SimpleAtoi(setting, &threads) &&
      threads > 0) {
    return std::min(threads, kMaxThreads);
  }
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) {
    return std::max(1, CPU_COUNT(&cores));
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

WorkerPool& WorkerPool::Get() {
  // Never destroyed: its threads run until the process ends.
  static WorkerPool& pool = *new WorkerPool(ConfiguredThreads());
  return pool;
}

WorkerPool::WorkerPool(int threads) : threads_(threads) {
  // Signals are the program's own business.
  sigset_t all, before;
  sigfillset(&all);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { Loop(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void WorkerPool::Loop() {
  for (;;) {
    Job job;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](std::deque<Job>* jobs) { return !jobs->empty(); }, &jobs_));
      job = jobs_.front();
      jobs_.pop_front();
    }
    (*job.task)();
    absl::MutexLock lock(&mutex_);
    --*job.open;
  }
}

void WorkerPool::Run(int helpers, const std::function<void()>& task) {
  int open = std::min(helpers, threads_ - 1);
  if (open > 0) {
    absl::MutexLock lock(&mutex_);
    for (int i = 0; i < open; ++i) jobs_.push_back({&task, &open});
  }
  task();
  if (helpers <= 0) return;
  absl::MutexLock lock(&mutex_);
  // What nobody has begun need not begin.
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    if (it->open == &open) {
      it = jobs_.erase(it);
      --open;
    } else {
      ++it;
    }
  }
  mutex_.Await(absl::Condition(
      +[](int* open) { return *open == 0; }, &open));
}

}  // namespace holdfast::software
