// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/worker_pool.h"

#include "core/software/base/mutex.h"
#include "core/software/base/start_thread.h"
#include "core/software/runtime/thread_count.h"

namespace holdfast::software {

WorkerPool& WorkerPool::Get() {
  static auto& pool = *new WorkerPool(ThreadCount());
  return pool;
}

WorkerPool::WorkerPool(int threads) {
  for (int i = 1; i < threads; ++i) {
    auto worker = StartThread([this] { Work(); });
    if (!worker.has_value()) break;  // Launches run on fewer.
    workers_.push_back(*std::move(worker));
  }
}

// A worker takes the first job, puts it at the end, and runs its function,
// which returns when the job has nothing left to hand out; then it takes the
// next. A launch that comes while all workers are busy runs on the thread that
// made it until then.
void WorkerPool::Work() {
  MutexLock lock(&mutex_);
  while (true) {
    while (jobs_.empty()) added_.Wait(&mutex_);
    // Taken in turn, so that no job waits for ever.
    Job* job = jobs_.front();
    jobs_.splice(jobs_.end(), jobs_, jobs_.begin());
    ++job->running;
    mutex_.Unlock();
    (*job->function)();
    mutex_.Lock();
    // It returned because nothing was left to do.
    if (job->posted) jobs_.remove(job);
    job->posted = false;
    if (--job->running == 0) left_.NotifyAll();
  }
}

void WorkerPool::Post(Job* job, int wanted) {
  {
    MutexLock lock(&mutex_);
    if (job->posted) return;
    job->posted = true;
    jobs_.push_back(job);
  }
  if (wanted >= threads() - 1) {
    added_.NotifyAll();
  } else {
    for (int i = 0; i < wanted; ++i) added_.NotifyOne();
  }
}

// After it no worker is in the job's function, nor comes to it any more, and
// the job may be destroyed.
void WorkerPool::Withdraw(Job* job) {
  MutexLock lock(&mutex_);
  if (job->posted) jobs_.remove(job);
  job->posted = false;
  while (job->running > 0) left_.Wait(&mutex_);
}

void WorkerPool::Run(const std::function<void()>& job) {
  Job entry{&job};
  Post(&entry, threads() - 1);
  job();
  Withdraw(&entry);
}

}  // namespace holdfast::software
