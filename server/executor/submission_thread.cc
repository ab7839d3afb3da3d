// SPDX-License-Identifier: Apache-2.0
#include "server/executor/submission_thread.h"

#include <memory>
#include <utility>

namespace holdfast::executor {
namespace {

// Set when it is destroyed, whether its work has run or was dropped.
struct Signal {
  absl::Mutex mutex;
  bool ran ABSL_GUARDED_BY(mutex) = false;
  bool gone ABSL_GUARDED_BY(mutex) = false;
};

}  // namespace

SubmissionThread::SubmissionThread() : thread_([this] { Loop(); }) {}

SubmissionThread::~SubmissionThread() {
  Stop();
  thread_.join();
}

void SubmissionThread::Stop() {
  std::deque<std::function<void()>> dropped;
  absl::MutexLock lock(&mutex_);
  stopping_ = true;
  dropped.swap(waiting_);
}

bool SubmissionThread::Post(std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  const auto room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || waiting_.size() < kMaxWaiting;
  };
  mutex_.Await(absl::Condition(&room));
  if (stopping_) return false;
  waiting_.push_back(std::move(work));
  return true;
}

bool SubmissionThread::Run(const std::function<void()>& work) {
  Signal signal;
  // Dropped work still has to wake the caller.
  std::shared_ptr<void> guard(nullptr, [&signal](void*) {
    absl::MutexLock lock(&signal.mutex);
    signal.gone = true;
  });
  const bool posted = Post([&work, &signal, guard] {
    work();
    absl::MutexLock lock(&signal.mutex);
    signal.ran = true;
  });
  if (!posted) return false;
  // Only the posted work holds the guard from here on.
  guard.reset();
  absl::MutexLock lock(&signal.mutex);
  signal.mutex.Await(absl::Condition(&signal.gone));
  return signal.ran;
}

void SubmissionThread::Loop() {
  while (true) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_);
      const auto wake = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !waiting_.empty();
      };
      mutex_.Await(absl::Condition(&wake));
      if (stopping_) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace holdfast::executor
