// SPDX-License-Identifier: Apache-2.0
#include "server/executor/imports/event_waits.h"

#include "absl/status/statusor.h"
#include "core/base/start_thread.h"
#include "core/base/status_macros.h"

namespace holdfast::executor {

EventWaits::~EventWaits() {
  std::thread thread;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

absl::Status EventWaits::Start() {
  absl::MutexLock lock(&mutex_);
  if (thread_.joinable()) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(
      thread_,
      StartThread("waits for events of other sessions", [this] { Run(); }));
  return absl::OkStatus();
}

void EventWaits::Add(Wait wait) {
  absl::MutexLock lock(&mutex_);
  if (waits_.size() % kLookFrom == kLookFrom - 1) RemovePassed();
  waits_.push_back(std::move(wait));
}

// A device that has failed answers every question with its error: its waits are
// over, too.
void EventWaits::RemovePassed() {
  std::erase_if(waits_, [](const Wait& wait) {
    const absl::StatusOr<bool> done = wait.passed->Query();
    return !done.ok() || *done;
  });
}

bool EventWaits::AwaitNextLook() {
  absl::MutexLock lock(&mutex_);
  const auto wake = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !waits_.empty();
  };
  mutex_.Await(absl::Condition(&wake));
  return !mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kPeriod);
}

std::vector<EventWaits::Wait> EventWaits::TakeAbandoned() {
  absl::MutexLock lock(&mutex_);
  RemovePassed();
  std::vector<Wait> abandoned;
  for (const Wait& wait : waits_) {
    if (wait.event->abandoned()) abandoned.push_back(wait);
  }
  return abandoned;
}

void EventWaits::Run() {
  while (AwaitNextLook()) {
    std::vector<Wait> abandoned = TakeAbandoned();
    if (!abandoned.empty()) abandoned_(std::move(abandoned));
  }
}

}  // namespace holdfast::executor
