// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_life.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/error_detail.h"
#include "core/base/log.h"
#include "core/base/start_thread.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "server/journal/journal_reader.h"
#include "server/rpc/fault_status.h"
#include "server/supervisor/no_executor.h"
#include "server/supervisor/session_errors.h"
#include "server/supervisor/shown_state.h"

namespace holdfast::supervisor {
namespace {

using session::Action;
using session::Event;
using session::Phase;
using session::Reason;
using session::State;

}  // namespace

SessionLife::SessionLife(Options options, std::shared_ptr<Executor> executor)
    : options_(std::move(options)),
      executor_(std::move(executor)),
      faults_(options_.fault_limits) {}

SessionLife::SessionLife(Options options, Left left)
    : SessionLife(std::move(options), std::make_shared<NoExecutor>()) {
  const LogScope scope(options_.log_fields);
  absl::MutexLock lock(&mutex_);
  const bool suspended = left.holdings->suspension().suspended();
  holdings_ = std::move(left.holdings);
  epoch_ = left.epoch;
  const auto progress = journal::ReadProgress(holdings_->journal());
  last_fault_ = MakeFaultReport(
      {.epoch = epoch_,
       .time = options_.now(),
       .reason = absl::AbortedError("the daemon has died and was started anew"),
       .fault = std::nullopt,
       .progress = progress});
  if (left.idle || suspended) NoteIdle();
  if (!progress.ok()) {
    over_ = LostError(options_.id, progress.status());
    state_ = {.phase = Phase::kLost};
  } else if (suspended) {
    state_ = {.phase = Phase::kStopped, .why = Reason::kSuspension};
  } else if (options_.recover == v1::RECOVERY_POLICY_ASK && !left.idle) {
    state_ = {.phase = Phase::kStopped, .why = Reason::kFault};
  } else {
    state_ = {.phase = Phase::kRecovering,
              .why = left.idle ? Reason::kUpgrade : Reason::kFault};
  }
}

void SessionLife::Start() {
  if (state().phase == Phase::kRecovering) {
    return StartRecovery().IgnoreError();  // The client asks again.
  }
  executor()->OnEnd([this](absl::Status reason) { NoteEnd(reason); });
}

State SessionLife::state() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

std::shared_ptr<Executor> SessionLife::executor() const {
  absl::MutexLock lock(&mutex_);
  return executor_;
}

uint64_t SessionLife::epoch() const {
  absl::MutexLock lock(&mutex_);
  return epoch_;
}

std::optional<SessionLife::Halt> SessionLife::halt() const {
  absl::MutexLock lock(&mutex_);
  if (!IsHalted(state_)) return std::nullopt;
  return Halt{last_fault_, epoch_};
}

void SessionLife::Describe(bool detached, v1::SessionInfo* info) const {
  absl::MutexLock lock(&mutex_);
  info->set_state(ShownState(state_, detached));
  info->set_epoch(epoch_);
  info->set_faults(faults_.count());
  if (faults_.count() > 0) *info->mutable_last_fault() = last_fault_;
  if (info->state() != v1::SessionInfo::STATE_SUSPENDED) {
    info->set_executor_pid(executor_->pid());
  } else if (holdings_ != nullptr) {
    info->mutable_usage()->set_suspended_bytes(holdings_->suspension().bytes());
  }
}

absl::Status SessionLife::RefusedCall() const {
  return last_fault_.suspended() ? SuspendedError(last_fault_.epoch())
                                 : FaultedError(last_fault_.epoch());
}

absl::Status SessionLife::AwaitLoss(absl::Time deadline) const {
  absl::MutexLock lock(&mutex_);
  const auto stopped = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !IsServing(state_);
  };
  if (!mutex_.AwaitWithDeadline(absl::Condition(&stopped), deadline)) {
    return absl::OkStatus();
  }
  return IsOver(state_) ? over_ : RefusedCall();
}

std::vector<Action> SessionLife::Apply(Event event) {
  auto next = session::Next(state_, event);
  if (!next.has_value()) return {};
  state_ = next->state;
  return std::move(next->actions);
}

absl::Status SessionLife::Carry(const std::vector<Action>& actions) {
  for (const Action action : actions) {
    switch (action) {
      case Action::kStopExecutor:
        executor()->Stop(absl::Now());
        break;
      case Action::kTell:
        options_.on_change();
        break;
      case Action::kRecover:
        HOLDFAST_RETURN_IF_ERROR(StartRecovery());
        break;
    }
  }
  return absl::OkStatus();
}

// Faults.

void SessionLife::NoteEnd(const absl::Status& reason) {
  std::unique_ptr<SessionHoldings> given_up;
  std::vector<Action> actions;
  absl::Status lost;
  std::string cause;
  {
    absl::MutexLock lock(&mutex_);
    // Its end was asked for, or changes nothing any more.
    if (!session::Next(state_, Event::kFault).has_value()) return;
    holdings_ = executor_->TakeHoldings();
    lost = NoteFault(reason);
    if (!lost.ok()) {
      given_up = std::move(holdings_);
      over_ = lost = LostError(options_.id, lost);
      actions = Apply(Event::kFatal);
    } else {
      actions =
          Apply(options_.recover == v1::RECOVERY_POLICY_ASK ? Event::kFaultAsk
                                                            : Event::kFault);
    }
    cause = last_fault_.cause().message();
  }
  const LogScope scope(options_.log_fields);
  if (!lost.ok()) {
    LogFor(options_.client, LogLevel::kError, lost.message());
  } else {
    LogFor(options_.client, LogLevel::kWarning, "session ", options_.id,
           " has faulted: ", cause);
  }
  Carry(actions).IgnoreError();  // The client asks again.
}

absl::Status SessionLife::NoteFault(const absl::Status& reason) {
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
  const absl::Status why = fault.has_value() ? CauseOf(last_fault_) : reason;
  if (options_.recovery == nullptr || holdings_ == nullptr ||
      options_.recover == v1::RECOVERY_POLICY_NEVER) {
    return why;
  }
  if (!progress.ok()) return WithPrefix(why.message(), progress.status());
  return WithPrefix(why.message(), too_many);
}

void SessionLife::NoteIdle() {
  last_fault_.set_suspended(true);
  last_fault_.set_completed_through(last_fault_.received_through());
  last_fault_.set_submitted_through(last_fault_.received_through());
  last_fault_.clear_last_commands();
}

// Recovery.

absl::Status SessionLife::StartRecovery() {
  absl::MutexLock lock(&mutex_);
  if (state_.phase != Phase::kRecovering || recovering_) {
    return absl::OkStatus();
  }
  // A thread that has reset recovering_ has nothing more to do.
  if (recovery_thread_.joinable()) recovery_thread_.join();
  auto thread = StartThread("the recovery of a session", [this] {
    const LogScope scope(options_.log_fields);
    while (RecoverOnce()) {
    }
  });
  if (!thread.ok()) {
    LogFor(options_.client, LogLevel::kError, "session ", options_.id,
           " waits until its recovery is asked for again: ",
           thread.status().message());
    Apply(Event::kNotStarted);
    return thread.status();
  }
  recovering_ = true;
  recovery_thread_ = *std::move(thread);
  return absl::OkStatus();
}

bool SessionLife::RecoverOnce() {
  std::unique_ptr<SessionHoldings> holdings;
  uint64_t epoch = 0;
  uint64_t received = 0;
  bool fault = false;
  std::shared_ptr<Executor> lost;
  {
    absl::MutexLock lock(&mutex_);
    if (state_.phase != Phase::kRecovering) return recovering_ = false;
    holdings = std::move(holdings_);
    epoch = last_fault_.epoch() + 1;
    received = last_fault_.received_through();
    fault = state_.why == Reason::kFault;
    lost = executor_;
  }
  const absl::Time began = SteadyNow();
  auto recovered = options_.recovery->Run(
      std::move(holdings), epoch, received,
      [this](std::shared_ptr<Executor> successor) {
        return Adopt(std::move(successor));
      },
      // Its end would hold up its successor.
      [&lost] {
        if (lost != nullptr) lost->Stop(absl::Now());
        lost = nullptr;
      });
  if (!recovered.ok()) {
    GiveUp(recovered.status());
    return true;
  }
  options_.on_restored();
  if (fault) options_.recovery->NoteRecovered();
  std::vector<Action> actions;
  {
    absl::MutexLock lock(&mutex_);
    actions = Apply(Event::kRestored);
    if (actions.empty()) return true;  // It is being closed.
    epoch_ = epoch;
    *last_fault_.mutable_lost() = recovered->lost();
    last_fault_.set_lost_count(recovered->lost_count());
  }
  LogFor(options_.client, LogLevel::kInfo, "session ", options_.id,
         fault ? " recovered in " : " resumed in ",
         absl::FormatDuration(SteadyNow() - began), ", epoch ", epoch, ", ",
         recovered->lost_count(), " resources lost");
  Carry(actions).IgnoreError();  // The client asks again.
  // Perhaps it has ended already; then the next turn recovers from that.
  executor()->OnEnd([this](absl::Status reason) { NoteEnd(reason); });
  return true;
}

bool SessionLife::Adopt(std::shared_ptr<Executor> executor) {
  // Before the executor makes any memory there, which the next daemon would
  // otherwise take for memory of the device before.
  options_.on_devices(options_.recovery->devices());
  // The executor before it ends outside the lock, because its callback may
  // wait for the lock.
  absl::MutexLock lock(&mutex_);
  if (state_.phase != Phase::kRecovering) return false;
  executor_.swap(executor);
  return true;
}

void SessionLife::GiveUp(const absl::Status& failure) {
  std::vector<Action> actions;
  absl::Status lost;
  {
    absl::MutexLock lock(&mutex_);
    actions = Apply(Event::kFatal);
    if (actions.empty()) return;  // It is being closed.
    lost = over_ = LostError(
        options_.id, WithPrefix(absl::StrCat(last_fault_.cause().message(),
                                             last_fault_.suspended()
                                                 ? " and could not be resumed"
                                                 : "; it was not recovered"),
                                failure));
  }
  LogFor(options_.client, LogLevel::kError, lost.message());
  Carry(actions).IgnoreError();  // The client asks again.
}

// The client's acknowledgement.

absl::Status SessionLife::CheckAcknowledged(uint64_t epoch) const {
  if (IsOver(state_)) return NotResumedError(over_);
  if (IsServing(state_)) {
    return absl::FailedPreconditionError(
        absl::StrCat("session ", options_.id, " has no fault to take note of"));
  }
  if (epoch != last_fault_.epoch()) return RefusedCall();
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Executor>> SessionLife::BeginResuming(
    uint64_t epoch, absl::Time deadline) {
  std::vector<Action> actions;
  while (true) {
    HOLDFAST_RETURN_IF_ERROR(Carry(std::exchange(actions, {})));
    absl::MutexLock lock(&mutex_);
    const bool parked = state_.phase == Phase::kParked;
    const auto free = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return state_.phase != Phase::kParked && state_.phase != Phase::kLeft;
    };
    if (!mutex_.AwaitWithDeadline(absl::Condition(&free), deadline)) {
      return absl::DeadlineExceededError(
          "the daemon makes way for another, which has the session resumed");
    }
    // The daemon was not replaced after all.
    if (parked && IsServing(state_)) return nullptr;
    HOLDFAST_RETURN_IF_ERROR(CheckAcknowledged(epoch));
    const auto settled = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return !IsChanging(state_);
    };
    if (state_.phase == Phase::kStopped) {
      actions = Apply(Event::kResume);
    } else if (state_.phase == Phase::kRestored) {
      Apply(Event::kAcknowledge);
      return executor_;
    } else if (!mutex_.AwaitWithDeadline(absl::Condition(&settled), deadline)) {
      return absl::DeadlineExceededError("the session is still recovering");
    }
  }
}

absl::StatusOr<v1::AcknowledgeFaultResponse> SessionLife::AcknowledgeFault(
    uint64_t epoch, absl::Time deadline) {
  while (true) {
    HOLDFAST_ASSIGN_OR_RETURN(const std::shared_ptr<Executor> executor,
                              BeginResuming(epoch, deadline));
    const absl::Status resumed =
        executor == nullptr ? absl::OkStatus() : executor->Resume(deadline);
    absl::MutexLock lock(&mutex_);
    const bool ended =
        executor != nullptr &&
        (executor != executor_ || state_.phase != Phase::kResuming);
    if (!ended && executor != nullptr) {
      Apply(resumed.ok() ? Event::kResumed : Event::kNotResumed);
    }
    if (!ended && resumed.ok()) {
      v1::AcknowledgeFaultResponse response;
      *response.mutable_fault() = last_fault_;
      response.set_epoch(epoch_);
      return response;
    }
    // If the executor has died, that will be noted.
    const auto noted = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return executor != executor_ || state_.phase != Phase::kRestored;
    };
    if (!mutex_.AwaitWithDeadline(absl::Condition(&noted), deadline)) {
      return WithPrefix("the session does not go on", resumed);
    }
  }
}

// Suspension.

absl::StatusOr<uint64_t> SessionLife::Suspend(const std::string& path,
                                              absl::Time deadline) {
  const LogScope scope(options_.log_fields);
  std::shared_ptr<Executor> executor;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_RETURN_IF_ERROR(CheckSuspendable(options_.id, state_, over_));
    Apply(Event::kSuspend);
    executor = executor_;
  }
  const absl::Time began = SteadyNow();
  const absl::Status suspended = executor->Suspend(path, deadline);
  if (!suspended.ok()) {
    absl::MutexLock lock(&mutex_);
    if (executor == executor_) Apply(Event::kNotQuiesced);
    return WithPrefix(
        absl::StrCat("session ", options_.id, " was not suspended and goes on"),
        suspended);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t bytes, NoteSuspended(executor));
  executor->OnEnd(nullptr);
  executor->Stop(absl::Now() + kStopTime);
  LogFor(options_.client, LogLevel::kInfo, "session ", options_.id,
         " suspended, ", bytes, " bytes of device memory in ",
         path.empty() ? "host memory" : path, ", in ",
         absl::FormatDuration(SteadyNow() - began));
  return bytes;
}

absl::StatusOr<uint64_t> SessionLife::NoteSuspended(
    const std::shared_ptr<Executor>& saved) {
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<SessionHoldings> holdings;
  if (saved == executor_ && state_.phase == Phase::kQuiescing) {
    holdings = saved->TakeHoldings();
  }
  if (holdings == nullptr) {
    return absl::AbortedError(
        absl::StrCat("session ", options_.id,
                     " ended, or faulted, while it was being suspended"));
  }
  holdings->Suspend();
  const auto progress = journal::ReadProgress(holdings->journal());
  last_fault_ = MakeFaultReport(
      {.epoch = epoch_,
       .time = options_.now(),
       .reason = absl::AbortedError("the session was suspended"),
       .fault = std::nullopt,
       .progress = progress});
  NoteIdle();
  holdings_ = std::move(holdings);
  Apply(Event::kSuspended);
  return holdings_->suspension().bytes();
}

absl::Status SessionLife::Place(uint32_t device, absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_RETURN_IF_ERROR(CheckSuspended(options_.id, state_));
    // Nothing else resumes it meanwhile.
    Apply(Event::kPlace);
  }
  const absl::Status possible = options_.recovery->CheckPlace(device, deadline);
  absl::MutexLock lock(&mutex_);
  Apply(Event::kPlaced);
  HOLDFAST_RETURN_IF_ERROR(possible);
  HOLDFAST_RETURN_IF_ERROR(CheckSuspended(options_.id, state_));
  return options_.recovery->Place(device, *holdings_);
}

absl::Status SessionLife::ResumeSuspended(std::optional<uint32_t> device,
                                          absl::Time deadline) {
  const LogScope scope(options_.log_fields);
  {
    absl::MutexLock lock(&mutex_);
    // A session that is being suspended is suspended in a moment.
    const auto settled = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return state_.phase != Phase::kQuiescing &&
             state_.phase != Phase::kPlacing;
    };
    if (!mutex_.AwaitWithDeadline(absl::Condition(&settled), deadline)) {
      return absl::DeadlineExceededError(
          absl::StrCat("session ", options_.id,
                       " is still being suspended, or given a device"));
    }
    HOLDFAST_RETURN_IF_ERROR(CheckSuspended(options_.id, state_));
  }
  if (device.has_value()) {
    HOLDFAST_RETURN_IF_ERROR(
        WithPrefix(absl::StrCat("session ", options_.id, " stays suspended"),
                   Place(*device, deadline)));
  }
  std::vector<Action> actions;
  {
    absl::MutexLock lock(&mutex_);
    actions = Apply(Event::kResume);
  }
  HOLDFAST_RETURN_IF_ERROR(Carry(actions));
  absl::MutexLock lock(&mutex_);
  const auto ready = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return state_.phase != Phase::kRecovering;
  };
  if (!mutex_.AwaitWithDeadline(absl::Condition(&ready), deadline)) {
    return absl::DeadlineExceededError("the session is still being resumed");
  }
  return IsOver(state_) ? over_ : absl::OkStatus();
}

// A daemon that is replaced.

absl::Status SessionLife::Park(absl::Time deadline) {
  const LogScope scope(options_.log_fields);
  std::shared_ptr<Executor> executor;
  {
    absl::MutexLock lock(&mutex_);
    const auto settled = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return !IsChanging(state_);
    };
    if (!mutex_.AwaitWithDeadline(absl::Condition(&settled), deadline)) {
      return absl::DeadlineExceededError(
          absl::StrCat("session ", options_.id,
                       " is still recovering, or is being suspended"));
    }
    // An executor that has not served yet, and whose session has no fault, is
    // to leave no fault to the next daemon.
    if (state_.phase == Phase::kRestored && last_fault_.suspended()) {
      executor_->NoteIdle();
    }
    Apply(Event::kPark);
    // In any other state nothing runs.
    if (state_.phase != Phase::kQuiescing) return absl::OkStatus();
    executor = executor_;
  }
  const absl::Status parked = executor->Park(deadline);
  absl::MutexLock lock(&mutex_);
  // If the session faults now it recovers in the next daemon, as after any
  // fault. If it is closed there is nothing to keep.
  if (executor != executor_ || state_.phase != Phase::kQuiescing) {
    return absl::OkStatus();
  }
  if (!parked.ok()) {
    Apply(Event::kNotQuiesced);
    return WithPrefix(absl::StrCat("session ", options_.id), parked);
  }
  last_fault_.Clear();
  last_fault_.set_epoch(epoch_);
  NoteIdle();
  Apply(Event::kParked);
  return absl::OkStatus();
}

void SessionLife::Unpark(absl::Time deadline) {
  std::shared_ptr<Executor> executor;
  {
    absl::MutexLock lock(&mutex_);
    if (state_.phase != Phase::kParked) return;
    if (state_.unparked == Phase::kServing) executor = executor_;
  }
  const LogScope scope(options_.log_fields);
  if (executor != nullptr) {
    const absl::Status resumed = executor->Resume(deadline);
    if (!resumed.ok()) {
      LogFor(options_.client, LogLevel::kWarning, "session ", options_.id,
             " does not go on: ", resumed.message());
    }
  }
  std::vector<Action> actions;
  {
    absl::MutexLock lock(&mutex_);
    actions = Apply(Event::kUnpark);
  }
  Carry(actions).IgnoreError();  // The client asks again.
}

void SessionLife::Leave() {
  absl::MutexLock lock(&mutex_);
  Apply(Event::kLeave);
}

bool SessionLife::NeedsExecutorNext() const {
  absl::MutexLock lock(&mutex_);
  return options_.recovery != nullptr && session::HasExecutor(state_);
}

bool SessionLife::shares_server() const {
  return options_.recovery != nullptr && options_.recovery->shares_server();
}

void SessionLife::AwaitRecovered(absl::Time deadline) const {
  absl::MutexLock lock(&mutex_);
  const auto recovered = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return state_.phase != Phase::kRecovering;
  };
  mutex_.AwaitWithDeadline(absl::Condition(&recovered), deadline);
}

// The end.

bool SessionLife::Close(const std::string& because) {
  absl::MutexLock lock(&mutex_);
  if (state_.phase == Phase::kClosed) return false;
  if (state_.phase != Phase::kLost) {
    over_ = LostError(options_.id, absl::CancelledError(because));
  }
  Apply(Event::kClose);
  return true;
}

void SessionLife::End(absl::Time deadline) {
  const std::shared_ptr<Executor> last = executor();
  last->OnEnd(nullptr);
  last->Stop(deadline);
  std::thread recovery;
  std::unique_ptr<SessionHoldings> holdings;
  {
    absl::MutexLock lock(&mutex_);
    recovery.swap(recovery_thread_);
    holdings.swap(holdings_);
  }
  if (recovery.joinable()) recovery.join();
}

bool SessionLife::HasRemains() const {
  absl::MutexLock lock(&mutex_);
  return state_.phase == Phase::kLost && executor_->pid() != 0;
}

void SessionLife::ReleaseRemains() {
  std::shared_ptr<Executor> last = std::make_shared<NoExecutor>();
  std::thread recovery;
  {
    absl::MutexLock lock(&mutex_);
    if (state_.phase != Phase::kLost) return;
    executor_.swap(last);
    recovery.swap(recovery_thread_);
  }
  last->OnEnd(nullptr);
  last->Stop(absl::Now());
  if (recovery.joinable()) recovery.join();
  if (options_.recovery != nullptr) options_.recovery->CloseSockets();
}

}  // namespace holdfast::supervisor
