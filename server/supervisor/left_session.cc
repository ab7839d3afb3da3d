// SPDX-License-Identifier: Apache-2.0
//
// A session that is to outlive its daemon. The daemon that makes way in order
// parks it: its executor finishes what has arrived, so that its end loses
// nothing. One that dies leaves it as it is. The next daemon has its chunks,
// journal and sockets either way, and recovers it: as after a suspension, which
// its client is not told of, or as after a fault.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/log.h"
#include "core/base/log_scope.h"
#include "core/base/status_macros.h"
#include "server/journal/journal_reader.h"
#include "server/supervisor/no_executor.h"
#include "server/supervisor/session.h"

namespace holdfast::supervisor {

Session::Session(Options options, Left left)
    : Session(left.opened, std::move(options), std::make_shared<NoExecutor>()) {
  const LogScope scope(log_fields_);
  absl::MutexLock lock(&mutex_);
  const bool suspended = left.holdings->suspended();
  holdings_ = std::move(left.holdings);
  epoch_ = left.epoch;
  detached_ = true;
  if (left.detached) {
    KeepDetached();
  } else {
    returning_until_ = options_.lease_time() + kFirstKeepAlive;
  }
  deadline_ = options_.lease_time() + std::max(options_.grace, kFirstKeepAlive);
  const auto progress = journal::ReadProgress(holdings_->journal());
  last_fault_ = MakeFaultReport(
      {.epoch = epoch_,
       .time = options_.now(),
       .reason = absl::AbortedError("the daemon has died and was started anew"),
       .fault = std::nullopt,
       .progress = progress});
  if (!progress.ok()) {
    SetLost(progress.status());
    return;
  }
  if (left.idle || suspended) MarkIdle();
  if (suspended) {
    state_ = State::STATE_SUSPENDED;
  } else if (options_.recover == v1::RECOVERY_POLICY_ASK && !left.idle) {
    state_ = State::STATE_FAULTED;
  } else {
    StartRecovery();
  }
}

absl::Status Session::Park(absl::Time deadline) {
  const LogScope scope(log_fields_);
  std::shared_ptr<Executor> executor;
  {
    absl::MutexLock lock(&mutex_);
    const auto settled = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return state_ != State::STATE_RECOVERING && !suspending_ &&
             resuming_ == 0;
    };
    if (!mutex_.AwaitWithDeadline(absl::Condition(&settled), deadline)) {
      return absl::DeadlineExceededError(
          absl::StrCat("session ", id(),
                       " is still recovering, or is being "
                       "suspended"));
    }
    // In any other state nothing of it runs.
    if (state_ != State::STATE_ACTIVE && state_ != State::STATE_DETACHED) {
      held_ = true;
      if (last_fault_.suspended()) executor_->NoteIdle();
      return absl::OkStatus();
    }
    executor = executor_;
  }
  const absl::Status parked = executor->Park(deadline);
  absl::MutexLock lock(&mutex_);
  // Its client has ended it meanwhile: there is nothing to keep.
  if (state_ == State::STATE_CLOSING) return absl::OkStatus();
  HOLDFAST_RETURN_IF_ERROR(WithPrefix(absl::StrCat("session ", id()), parked));
  // One that faults now recovers in the next daemon, as after any fault.
  if (executor != executor_ || Faulted()) return absl::OkStatus();
  last_fault_.Clear();
  last_fault_.set_epoch(epoch_);
  MarkIdle();
  detached_ = state_ == State::STATE_DETACHED;
  state_ = State::STATE_SUSPENDED;
  parked_ = true;
  return absl::OkStatus();
}

void Session::Unpark(absl::Time deadline) {
  std::shared_ptr<Executor> executor;
  {
    absl::MutexLock lock(&mutex_);
    held_ = false;
    if (!parked_) return;
    executor = executor_;
  }
  const absl::Status resumed = executor->Resume(deadline);
  const LogScope scope(log_fields_);
  if (!resumed.ok()) {
    LogFor(client(), LogLevel::kWarning, "session ", id(),
           " does not go on: ", resumed.message());
  }
  absl::MutexLock lock(&mutex_);
  parked_ = false;
  if (state_ != State::STATE_SUSPENDED) return;
  state_ = detached_ ? State::STATE_DETACHED : State::STATE_ACTIVE;
}

bool Session::AwaitUnparked(absl::Time deadline) {
  if (!parked_) return false;
  const auto over = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !parked_ || state_ == State::STATE_CLOSING;
  };
  return mutex_.AwaitWithDeadline(absl::Condition(&over), deadline) &&
         (state_ == State::STATE_ACTIVE || state_ == State::STATE_DETACHED);
}

void Session::TellRestart() {
  {
    absl::MutexLock lock(&mutex_);
    left_ = true;
  }
  absl::MutexLock lock(&keepers_mutex_);
  for (const auto& [number, keeper] : keepers_) {
    if (keeper.on_restart) keeper.on_restart();
  }
}

}  // namespace holdfast::supervisor
