// SPDX-License-Identifier: Apache-2.0
#include "server/executor/session/session_gate.h"

#include "core/base/wake_on_stop.h"

namespace holdfast::executor {

absl::StatusOr<SessionGate::Pass> SessionGate::Enter(
    const std::stop_token& cancelled) {
  {
    absl::MutexLock lock(&mutex_);
    if (Decided()) [[likely]]
      return Decide();
  }
  const WakeOnStop wake(cancelled, mutex_);
  absl::MutexLock lock(&mutex_);
  const auto due = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return Decided() || cancelled.stop_requested();
  };
  mutex_.Await(absl::Condition(&due));
  if (!Decided()) return absl::CancelledError("given up");
  return Decide();
}

absl::StatusOr<SessionGate::Pass> SessionGate::Decide() {
  if (!end_.ok()) return end_;
  ++inside_;
  return Pass(this);
}

void SessionGate::Leave() {
  absl::MutexLock lock(&mutex_);
  --inside_;
}

bool SessionGate::Close(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  const auto empty = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return inside_ == 0;
  };
  return mutex_.AwaitWithDeadline(absl::Condition(&empty), deadline);
}

void SessionGate::Open() {
  absl::MutexLock lock(&mutex_);
  closed_ = false;
}

bool SessionGate::closed() const {
  absl::MutexLock lock(&mutex_);
  return closed_;
}

void SessionGate::End(const absl::Status& reason) {
  absl::MutexLock lock(&mutex_);
  end_.Update(reason);
}

}  // namespace holdfast::executor
