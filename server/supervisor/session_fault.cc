// SPDX-License-Identifier: Apache-2.0
//
// A session's fault, and its way back. The end of its executor, which nobody
// has asked for, is noted as a fault (OnExecutorEnd): the session is lost, or
// is to recover, at once or when its client acknowledges the fault.
//
// A thread of the session's recovers it (RecoverOnce): it gives what the
// session holds to SessionRecovery, which makes that again in another executor.
// This one is the session's as soon as it is tried (Adopt), so that Close can
// stop it; it serves when the client acknowledges the fault (AcknowledgeFault).
// If it ends at once, the same thread takes another turn.
//
// A suspended session comes back the same way; see session_suspension.cc.
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "core/base/error_detail.h"
#include "core/base/log.h"
#include "core/base/log_scope.h"
#include "core/base/status_macros.h"
#include "server/journal/journal_reader.h"
#include "server/rpc/fault_status.h"
#include "server/rpc/status_conversion.h"
#include "server/supervisor/session.h"
#include "server/supervisor/session_place.h"

namespace holdfast::supervisor {
namespace {

// Answers AcknowledgeFault for a session that will not go on.
absl::Status StoppedError(const absl::Status& lost) {
  absl::Status status = absl::AbortedError(lost.message());
  if (const auto detail = GetErrorDetail(lost); detail.has_value()) {
    SetErrorDetail(*detail, &status);
  }
  return status;
}

}  // namespace

void Session::OnExecutorEnd(const absl::Status& reason) {
  std::unique_ptr<SessionHoldings> given_up;
  v1::FaultReport report;
  absl::Status lost;
  uint64_t epoch = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (state_ == State::STATE_CLOSING) return;
    if (state_ == State::STATE_SUSPENDED) return;  // Its end was asked for.
    if (left_) return;  // The next daemon recovers it.
    holdings_ = executor_->TakeHoldings();
    lost = NoteFault(reason);
    report = last_fault_;
    epoch = epoch_;
    if (!lost.ok()) {
      given_up = std::move(holdings_);
      SetLost(lost);
      lost = lost_;
    } else {
      state_ = options_.recover == v1::RECOVERY_POLICY_ASK
                   ? State::STATE_FAULTED
                   : State::STATE_RECOVERING;
    }
  }
  const LogScope scope(log_fields_);
  // Until its successor is there, if it is to have one now.
  if (!lost.ok() || options_.recover == v1::RECOVERY_POLICY_ASK) {
    executor()->Stop(absl::Now());
  }
  if (!lost.ok()) {
    LogFor(client(), LogLevel::kError, lost.message());
    NotifyKeepers(std::string(lost.message()));
    return options_.on_deadline_change();
  }
  LogFor(client(), LogLevel::kWarning, "session ", id(),
         " has faulted: ", report.cause().message());
  // Before the recovery tells them of its end.
  TellKeepers(report, epoch);
  absl::MutexLock lock(&mutex_);
  if (state_ == State::STATE_RECOVERING && holdings_ != nullptr) {
    StartRecovery();
  }
}

absl::Status Session::NoteFault(const absl::Status& reason) {
  const auto fault = executor_->fault();
  const auto progress =
      holdings_ == nullptr
          ? absl::StatusOr<journal::Progress>(absl::NotFoundError("no journal"))
          : journal::ReadProgress(holdings_->journal());
  last_fault_ = MakeFaultReport({.epoch = epoch_,
                                 .time = options_.now(),
                                 .reason = reason,
                                 .fault = fault,
                                 .progress = progress});
  const absl::Status too_many = faults_.Note(options_.lease_time());
  absl::Status why = reason;
  if (fault.has_value()) {
    why = absl::UnavailableError(last_fault_.cause().message());
    const auto detail = GetErrorDetail(FromError(last_fault_.cause()));
    if (detail.has_value()) SetErrorDetail(*detail, &why);
  }
  if (options_.recovery == nullptr || holdings_ == nullptr ||
      options_.recover == v1::RECOVERY_POLICY_NEVER) {
    return why;
  }
  if (!progress.ok()) return WithPrefix(why.message(), progress.status());
  return WithPrefix(why.message(), too_many);
}

void Session::StartRecovery() {
  state_ = State::STATE_RECOVERING;
  if (std::exchange(recovering_, true)) return;
  // One that has said so has nothing more to do.
  if (recovery_thread_.joinable()) recovery_thread_.join();
  recovery_thread_ = std::thread([this] {
    const LogScope scope(log_fields_);
    while (RecoverOnce()) {
    }
  });
}

bool Session::RecoverOnce() {
  std::unique_ptr<SessionHoldings> holdings;
  uint64_t epoch = 0;
  uint64_t received = 0;
  bool suspended = false;
  {
    absl::MutexLock lock(&mutex_);
    if (holdings_ == nullptr || state_ != State::STATE_RECOVERING) {
      return recovering_ = false;
    }
    holdings = std::move(holdings_);
    epoch = last_fault_.epoch() + 1;
    received = last_fault_.received_through();
    suspended = last_fault_.suspended();
  }
  const absl::Time began = absl::Now();
  // Its end would hold up its successor.
  std::shared_ptr<Executor> lost = executor();
  auto recovered = options_.recovery->Run(
      std::move(holdings), epoch, received,
      [this](std::shared_ptr<Executor> successor) {
        return Adopt(std::move(successor));
      },
      [&lost] {
        if (lost != nullptr) lost->Stop(absl::Now());
        lost = nullptr;
      });
  if (!recovered.ok()) return GiveUp(recovered.status());
  // Before its client may go on.
  ApplyQuota();
  if (!suspended) options_.recovery->NoteRecovered();
  v1::FaultReport report;
  {
    absl::MutexLock lock(&mutex_);
    if (state_ == State::STATE_CLOSING) return recovering_ = false;
    state_ = State::STATE_FAULTED;
    epoch_ = epoch;
    *last_fault_.mutable_lost() = recovered->lost();
    last_fault_.set_lost_count(recovered->lost_count());
    report = last_fault_;
  }
  LogFor(client(), LogLevel::kInfo, "session ", id(),
         suspended ? " resumed in " : " recovered in ",
         absl::FormatDuration(absl::Now() - began), ", epoch ", epoch, ", ",
         report.lost_count(), " resources lost");
  TellKeepers(report, epoch);
  // May find at once that it has ended; the next turn sees to that.
  executor()->OnEnd([this](absl::Status reason) { OnExecutorEnd(reason); });
  return true;
}

bool Session::Adopt(std::shared_ptr<Executor> executor) {
  // The one before it ends outside the lock, since its callback may wait for
  // that.
  absl::MutexLock lock(&mutex_);
  if (state_ == State::STATE_CLOSING) return false;
  NotePlace();
  executor_.swap(executor);
  return true;
}

// Before the executor makes any memory there, which the next daemon would
// otherwise take for that of the device before.
void Session::NotePlace() {
  const std::vector<uint32_t> devices = options_.recovery->devices();
  if (devices == current_devices_) return;
  LogFor(client(), LogLevel::kInfo, "session ", id(), " goes to device ",
         devices.front(), "; its client names it ", options_.devices.front());
  current_devices_ = devices;
  SetDevice(devices.front(), record_.mutable_assign());
  KeepRecord();
}

bool Session::GiveUp(const absl::Status& failure) {
  absl::Status lost;
  {
    absl::MutexLock lock(&mutex_);
    recovering_ = false;
    if (state_ == State::STATE_CLOSING) return false;
    SetLost(WithPrefix(
        absl::StrCat(last_fault_.cause().message(),
                     last_fault_.suspended() ? " and could not be resumed"
                                             : "; it was not recovered"),
        failure));
    lost = lost_;
  }
  LogFor(client(), LogLevel::kError, lost.message());
  NotifyKeepers(std::string(lost.message()));
  options_.on_deadline_change();
  return false;
}

absl::StatusOr<v1::AcknowledgeFaultResponse> Session::AcknowledgeFault(
    uint64_t epoch, absl::Time deadline) {
  while (true) {
    std::shared_ptr<Executor> executor;
    {
      absl::MutexLock lock(&mutex_);
      if (AwaitUnparked(deadline)) {
        v1::AcknowledgeFaultResponse response;
        *response.mutable_fault() = last_fault_;
        response.set_epoch(epoch_);
        return response;
      }
      const auto free = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return !held_ || state_ == State::STATE_CLOSING;
      };
      if (!mutex_.AwaitWithDeadline(absl::Condition(&free), deadline)) {
        return absl::DeadlineExceededError(
            "the daemon makes way for another, which has the session resumed");
      }
      HOLDFAST_RETURN_IF_ERROR(CheckAcknowledged(epoch));
      if (holdings_ != nullptr && !recovering_ && !suspending_) StartRecovery();
      const auto ready = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return state_ != State::STATE_RECOVERING && !suspending_;
      };
      if (!mutex_.AwaitWithDeadline(absl::Condition(&ready), deadline)) {
        return absl::DeadlineExceededError("the session is still recovering");
      }
      if (state_ != State::STATE_FAULTED || held_) continue;
      executor = executor_;
      ++resuming_;
    }
    const absl::Status resumed = executor->Resume(deadline);
    absl::MutexLock lock(&mutex_);
    --resuming_;
    if (resumed.ok() && executor == executor_ && Faulted()) {
      state_ = detached_ ? State::STATE_DETACHED : State::STATE_ACTIVE;
      v1::AcknowledgeFaultResponse response;
      *response.mutable_fault() = last_fault_;
      response.set_epoch(epoch_);
      return response;
    }
    // It has died meanwhile, which will be noted.
    const auto noted = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return executor != executor_ || state_ != State::STATE_FAULTED ||
             holdings_ != nullptr;
    };
    if (!mutex_.AwaitWithDeadline(absl::Condition(&noted), deadline)) {
      return WithPrefix("the session does not go on", resumed);
    }
  }
}

absl::Status Session::CheckAcknowledged(uint64_t epoch) const {
  if (!lost_.ok()) return StoppedError(lost_);
  if (!Faulted()) {
    return absl::FailedPreconditionError(
        absl::StrCat("session ", id(), " has no fault to take note of"));
  }
  if (epoch != last_fault_.epoch()) return RefusedCall();
  return absl::OkStatus();
}

}  // namespace holdfast::supervisor
