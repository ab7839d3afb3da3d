// SPDX-License-Identifier: Apache-2.0
//
// One thread at a time gives the device everything that a session does, so that
// commands need no locks among themselves and keep their order: this one, or,
// while this has nothing to do, one that brings a batch or a step. Work is
// batches of commands and steps of the daemon's own, such as parts of
// transfers. A batch that has to wait, for room or for an answer, returns false
// and is parked: steps go on meanwhile, other batches do not, and Wake() lets
// it continue.
//
// `changes_` is counted up with every change that the thread may be waiting
// for, so that it can spin on one word without the lock.
#include "server/executor/submission/submission_thread.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/spin.h"

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
  Join();
}

void SubmissionThread::Join() {
  if (thread_.joinable()) thread_.join();
  const auto over = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !running_;
  };
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&over));
}

void SubmissionThread::Stop() {
  // Dropped outside the lock: their captures may call back.
  std::deque<Work> dropped;
  std::optional<Work> parked;
  absl::MutexLock lock(&mutex_);
  stopping_ = true;
  ++changes_;
  dropped.swap(waiting_);
  count_ = 0;
  parked.swap(parked_);
}

// Blocks the caller while too much waits, batches and steps each by their own
// bound: so a client that floods its session waits itself, and a transfer is
// not held up by its batches. One piece of any size is let in if nothing waits.
bool SubmissionThread::Enqueue(Work work) {
  absl::MutexLock lock(&mutex_);
  Waiting& waiting = work.is_batch ? batches_ : steps_;
  const auto room = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || waiting.count == 0 ||
           (waiting.count < kMaxWaiting &&
            waiting.bytes + work.bytes <= kMaxWaitingBytes);
  };
  mutex_.Await(absl::Condition(&room));
  if (stopping_) return false;
  ++waiting.count;
  waiting.bytes += work.bytes;
  waiting_.push_back(std::move(work));
  ++count_;
  ++changes_;
  return true;
}

SubmissionThread::Work SubmissionThread::Step(std::function<void()> step) {
  return {[step = std::move(step)] {
            step();
            return true;
          },
          /*is_batch=*/false, 0};
}

bool SubmissionThread::Post(std::function<void()> step) {
  return Enqueue(Step(std::move(step)));
}

bool SubmissionThread::RunOrPost(std::function<void()> step) {
  if (!TryBegin()) return Post(std::move(step));
  RunOne(Step(std::move(step)));
  return true;
}

bool SubmissionThread::PostBatch(std::function<bool()> batch, size_t bytes) {
  return Enqueue({std::move(batch), /*is_batch=*/true, bytes});
}

bool SubmissionThread::TryBegin() {
  absl::MutexLock lock(&mutex_);
  if (stopping_ || running_ || parked_.has_value() || !waiting_.empty()) {
    return false;
  }
  running_ = true;
  return true;
}

bool SubmissionThread::RunBatch(std::function<bool()> batch, size_t bytes,
                                const std::function<bool()>& more) {
  if (!TryBegin()) return PostBatch(std::move(batch), bytes);
  more_ = &more;
  RunOne({std::move(batch), /*is_batch=*/true, bytes});
  return true;
}

void SubmissionThread::Wake() {
  absl::MutexLock lock(&mutex_);
  woken_ = true;
  ++changes_;
}

bool SubmissionThread::Run(const std::function<void()>& step) {
  Signal signal;
  // Dropped work still has to wake the caller.
  std::shared_ptr<void> guard(nullptr, [&signal](void*) {
    absl::MutexLock lock(&signal.mutex);
    signal.gone = true;
  });
  const bool posted = Post([&step, &signal, guard] {
    step();
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

bool SubmissionThread::HasNext() const {
  if (running_) return false;
  if (parked_.has_value() && woken_) return true;
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [this](const Work& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                         mutex_) { return CanRun(work); });
}

SubmissionThread::Work SubmissionThread::TakeNext() {
  running_ = true;
  if (parked_.has_value() && woken_) {
    woken_ = false;
    return *std::exchange(parked_, std::nullopt);
  }
  const auto next = std::find_if(
      waiting_.begin(), waiting_.end(),
      [this](const Work& work)
          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return CanRun(work); });
  Work work = std::move(*next);
  waiting_.erase(next);
  --count_;
  Waiting& waiting = work.is_batch ? batches_ : steps_;
  --waiting.count;
  waiting.bytes -= work.bytes;
  return work;
}

std::optional<SubmissionThread::Work> SubmissionThread::AwaitNext() {
  for (uint32_t seen = changes_;; seen = changes_) {
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) return std::nullopt;
      if (HasNext()) return TakeNext();
    }
    if (!SpinThenSleep([&] { return changes_ != seen; })) break;
  }
  absl::MutexLock lock(&mutex_);
  const auto wake = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || HasNext();
  };
  mutex_.Await(absl::Condition(&wake));
  if (stopping_) return std::nullopt;
  return TakeNext();
}

void SubmissionThread::Park(Work* work) {
  absl::MutexLock lock(&mutex_);
  if (!stopping_) parked_ = std::move(*work);
}

void SubmissionThread::RunOne(Work work) {
  if (!work.run()) Park(&work);
  // Releases all that it holds within its turn, which Join waits for.
  work.run = nullptr;
  more_ = nullptr;
  absl::MutexLock lock(&mutex_);
  running_ = false;
  if (parked_.has_value() || !waiting_.empty()) ++changes_;
}

void SubmissionThread::Loop() {
  while (std::optional<Work> work = AwaitNext()) RunOne(*std::move(work));
}

}  // namespace holdfast::executor
