// SPDX-License-Identifier: Apache-2.0
#include "server/executor/session_gate.h"

namespace holdfast::executor {

absl::StatusOr<SessionGate::Pass> SessionGate::Enter() {
  absl::MutexLock lock(&mutex_);
  const auto decided = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !closed_ || !end_.ok();
  };
  if (!decided()) mutex_.Await(absl::Condition(&decided));
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
