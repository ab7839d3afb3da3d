// SPDX-License-Identifier: Apache-2.0
//
// A suspended session is one whose executor has ended as after a fault, but in
// order: everything that had arrived is done, and its device memory is in a
// file of ours. So its way back is a recovery, which its client's next command
// asks for by AcknowledgeFault.
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/base/error_detail.h"
#include "core/base/log.h"
#include "core/base/log_scope.h"
#include "core/base/status_macros.h"
#include "server/journal/journal_reader.h"
#include "server/rpc/fault_status.h"
#include "server/supervisor/session.h"

namespace holdfast::supervisor {

absl::Status Session::CheckSuspendable() const {
  if (!lost_.ok()) return absl::FailedPreconditionError(lost_.message());
  if (suspending_) {
    return absl::FailedPreconditionError(
        absl::StrCat("session ", id(), " is being suspended already"));
  }
  if (state_ == State::STATE_ACTIVE || state_ == State::STATE_DETACHED) {
    return absl::OkStatus();
  }
  const std::string state = v1::SessionInfo::State_Name(state_);
  return absl::FailedPreconditionError(
      absl::StrCat("session ", id(), " is ",
                   absl::AsciiStrToLower(absl::StripPrefix(state, "STATE_")),
                   ": only an active or detached one can be suspended"));
}

absl::StatusOr<uint64_t> Session::Suspend(const std::string& path,
                                          absl::Time deadline) {
  const LogScope scope(log_fields_);
  std::shared_ptr<Executor> executor;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_RETURN_IF_ERROR(CheckSuspendable());
    suspending_ = true;
    executor = executor_;
  }
  const auto over = absl::MakeCleanup([this] {
    absl::MutexLock lock(&mutex_);
    suspending_ = false;
  });
  const absl::Time began = absl::Now();
  HOLDFAST_RETURN_IF_ERROR(WithPrefix(
      absl::StrCat("session ", id(), " was not suspended and goes on"),
      executor->Suspend(path, deadline)));
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t bytes, NoteSuspended(executor));
  executor->OnEnd(nullptr);
  executor->Stop(absl::Now() + kStopTime);
  LogFor(client(), LogLevel::kInfo, "session ", id(), " suspended, ", bytes,
         " bytes of device memory in ", path.empty() ? "host memory" : path,
         ", in ", absl::FormatDuration(absl::Now() - began));
  return bytes;
}

absl::StatusOr<uint64_t> Session::NoteSuspended(
    const std::shared_ptr<Executor>& saved) {
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<SessionHoldings> holdings;
  if (saved == executor_ &&
      (state_ == State::STATE_ACTIVE || state_ == State::STATE_DETACHED)) {
    holdings = saved->TakeHoldings();
  }
  if (holdings == nullptr) {
    return absl::AbortedError(absl::StrCat(
        "session ", id(), " ended, or faulted, while it was being suspended"));
  }
  holdings->Suspend();
  const auto progress = journal::ReadProgress(holdings->journal());
  last_fault_ = MakeFaultReport(
      {.epoch = epoch_,
       .time = options_.now(),
       .reason = absl::AbortedError("the session was suspended"),
       .fault = std::nullopt,
       .progress = progress});
  MarkIdle();
  detached_ = state_ == State::STATE_DETACHED;
  state_ = State::STATE_SUSPENDED;
  holdings_ = std::move(holdings);
  return holdings_->suspended_bytes();
}

void Session::MarkIdle() {
  last_fault_.set_suspended(true);
  last_fault_.set_completed_through(last_fault_.received_through());
  last_fault_.set_submitted_through(last_fault_.received_through());
  last_fault_.clear_last_commands();
}

absl::Status Session::CheckSuspended() const {
  if (state_ != State::STATE_SUSPENDED) {
    return absl::FailedPreconditionError(
        absl::StrCat("session ", id(), " is not suspended"));
  }
  // A parked one has its executor still; nothing begins any more.
  if (holdings_ != nullptr && !held_) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("session ", id(),
                   " cannot be resumed: the daemon makes way for another"));
}

absl::Status Session::Place(uint32_t device, absl::Time deadline) {
  // Nothing else brings it back meanwhile.
  suspending_ = true;
  mutex_.Unlock();
  const absl::Status possible = options_.recovery->CheckPlace(device, deadline);
  mutex_.Lock();
  suspending_ = false;
  HOLDFAST_RETURN_IF_ERROR(possible);
  HOLDFAST_RETURN_IF_ERROR(CheckSuspended());
  return options_.recovery->Place(device, *holdings_);
}

absl::Status Session::ResumeSuspended(std::optional<uint32_t> device,
                                      absl::Time deadline) {
  const LogScope scope(log_fields_);
  absl::MutexLock lock(&mutex_);
  // One that is being suspended is suspended in a moment.
  const auto settled = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !suspending_;
  };
  if (!mutex_.AwaitWithDeadline(absl::Condition(&settled), deadline)) {
    return absl::DeadlineExceededError(absl::StrCat(
        "session ", id(), " is still being suspended, or given a device"));
  }
  HOLDFAST_RETURN_IF_ERROR(CheckSuspended());
  if (device.has_value()) {
    HOLDFAST_RETURN_IF_ERROR(
        WithPrefix(absl::StrCat("session ", id(), " stays suspended"),
                   Place(*device, deadline)));
  }
  StartRecovery();
  const auto ready = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return state_ != State::STATE_RECOVERING;
  };
  if (!mutex_.AwaitWithDeadline(absl::Condition(&ready), deadline)) {
    return absl::DeadlineExceededError("the session is still being resumed");
  }
  if (!lost_.ok() || !device.has_value() ||
      current_devices_.front() == *device) {
    return lost_;
  }
  return absl::UnavailableError(
      absl::StrCat("session ", id(), " did not come back on device ", *device,
                   ", as the daemon's log says, and is on device ",
                   current_devices_.front()));
}

absl::Status Session::RefusedCall() const {
  return last_fault_.suspended() ? SuspendedError(last_fault_.epoch())
                                 : FaultedError(last_fault_.epoch());
}

// One that an operator has resumed waits for its client's acknowledgement, of
// which its users know nothing.
v1::SessionInfo::State Session::ShownState() const {
  if (state_ != State::STATE_FAULTED || !last_fault_.suspended()) {
    return state_;
  }
  return detached_ ? State::STATE_DETACHED : State::STATE_ACTIVE;
}

}  // namespace holdfast::supervisor
