// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/descriptor_socket.h"
#include "core/base/error_detail.h"
#include "core/base/log.h"
#include "core/base/log_scope.h"
#include "core/base/status_macros.h"
#include "proto/transport.h"
#include "server/journal/journal_reader.h"
#include "server/rpc/fault_status.h"
#include "server/rpc/status_conversion.h"
#include "server/supervisor/session_place.h"
#include "server/supervisor/session_quota.h"

namespace holdfast::supervisor {
namespace {

// To notice that a client has left.
constexpr absl::Duration kLeaveTime = absl::Seconds(1);

// An executor that is slow to answer is shown as it was.
constexpr absl::Duration kUsageTime = absl::Milliseconds(200);

std::shared_ptr<grpc::Channel> ConnectToExecutor(const std::string& path) {
  grpc::ChannelArguments arguments;
  // The executor decides the size of messages, not the forwarder.
  for (const auto& [name, value] : kTransportArguments) {
    arguments.SetInt(name, value);
  }
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, 4 << 20);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomChannel(
      "unix:" + path, grpc::InsecureChannelCredentials(), arguments);
}

google::protobuf::Timestamp ToTimestamp(absl::Time time) {
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(absl::ToUnixSeconds(time));
  timestamp.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(
      time - absl::FromUnixSeconds(timestamp.seconds()))));
  return timestamp;
}

absl::Status LostStatus(const std::string& id, const absl::Status& reason) {
  absl::Status status = absl::UnavailableError(absl::StrCat(
      "session ", id, " is lost with all its resources: ", reason.message()));
  // A CUDA error keeps its name.
  ErrorDetail detail = GetErrorDetail(reason).value_or(ErrorDetail());
  detail.session_lost = true;
  SetErrorDetail(detail, &status);
  return status;
}

// Answers AcknowledgeFault for a session that will not go on.
absl::Status StoppedError(const absl::Status& lost) {
  absl::Status status = absl::AbortedError(lost.message());
  if (const auto detail = GetErrorDetail(lost); detail.has_value()) {
    SetErrorDetail(*detail, &status);
  }
  return status;
}

// Lines about the session have its tenant, and the trace of the call that
// opened it.
LogFields FieldsOf(const Session::Options& options) {
  LogFields fields = LogScope::Current();
  fields.session = options.id;
  fields.tenant = options.client;
  return fields;
}

}  // namespace

Session::Session(Options options, std::shared_ptr<Executor> executor)
    : Session{options.now(), std::move(options), std::move(executor)} {
  this->executor()->OnEnd(
      [this](absl::Status reason) { OnExecutorEnd(reason); });
}

Session::Session(absl::Time opened, Options options,
                 std::shared_ptr<Executor> executor)
    : options_(std::move(options)),
      kept_(std::move(options_.kept)),
      record_(std::move(options_.record)),
      current_devices_(options_.recovery == nullptr
                           ? options_.devices
                           : options_.recovery->devices()),
      quota_(options_.quota),
      log_fields_(FieldsOf(options_)),
      opened_(opened),
      channel_(ConnectToExecutor(options_.socket_path)),
      executor_(std::move(executor)),
      blocks_(options_.blocks),
      faults_(options_.fault_limits),
      deadline_(options_.now() + kFirstKeepAlive) {}

std::shared_ptr<Executor> Session::executor() const {
  absl::MutexLock lock(&mutex_);
  return executor_;
}

Session::~Session() { Close("the daemon has dropped it"); }

std::shared_ptr<grpc::Channel> Session::NextTransferChannel() {
  absl::MutexLock lock(&transfer_mutex_);
  auto& channel = transfer_channels_[transfers_++ % transfer_channels_.size()];
  if (channel == nullptr) channel = ConnectToExecutor(options_.socket_path);
  return channel;
}

v1::SessionInfo Session::Info() const {
  v1::SessionInfo info;
  info.set_session_id(options_.id);
  info.set_name(options_.name);
  *info.mutable_client() = options_.client_info;
  info.set_peer(options_.peer);
  info.set_tenant(options_.client);
  const std::shared_ptr<Executor> executor = this->executor();
  *info.mutable_opened() = ToTimestamp(opened_);
  const internal::Usage usage = executor->AskUsage(absl::Now() + kUsageTime);
  *info.mutable_usage() = usage.usage();
  options_.execution->Sum().Report(info.mutable_usage());
  info.set_memory_bytes(usage.usage().device_bytes().used());
  info.set_arena_bytes(usage.usage().arena_bytes().used());
  *info.mutable_copies() = usage.copies();
  absl::MutexLock lock(&mutex_);
  info.set_state(ShownState());
  info.set_epoch(epoch_);
  info.mutable_devices()->Add(current_devices_.begin(), current_devices_.end());
  if (current_devices_ != options_.devices) {
    info.set_moved_from(options_.devices.front());
  }
  if (open_keepers_ == 0 && deadline_ < absl::InfiniteFuture()) {
    *info.mutable_ends() = ToTimestamp(deadline_);
  }
  info.set_faults(faults_.count());
  if (faults_.count() > 0) *info.mutable_last_fault() = last_fault_;
  if (state_ != State::STATE_SUSPENDED) {
    info.set_executor_pid(executor->pid());
  } else if (holdings_ != nullptr) {
    info.mutable_usage()->set_suspended_bytes(holdings_->suspended_bytes());
  }
  return info;
}

void Session::NoteAttach() {
  absl::MutexLock lock(&mutex_);
  if (open_keepers_ > 0) return;
  deadline_ = std::max(deadline_, options_.now() + kFirstKeepAlive);
}

absl::StatusOr<Session::TakenUp> Session::TakeUp() {
  TakenUp taken;
  taken.token = options_.token;
  std::shared_ptr<Executor> executor;
  {
    absl::MutexLock lock(&mutex_);
    // The end of a client that has just left may not have been noticed.
    const auto left = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return detached_ || !options_.detachable;
    };
    mutex_.AwaitWithTimeout(absl::Condition(&left), kLeaveTime);
    HOLDFAST_RETURN_IF_ERROR(CheckTakeUp());
    taken_until_ = options_.now() + kFirstKeepAlive;
    kept_detached_ = DescriptorStore::Kept();  // It has a client, or will.
    deadline_ = std::max(deadline_, taken_until_);
    taken.epoch = epoch_;
    if (Faulted()) {
      taken.received_through = last_fault_.received_through();
      taken.fault = last_fault_;
      return taken;
    }
    executor = executor_;
  }
  const auto received = executor->ReceivedThrough();
  if (!received.ok()) {
    // It is ending. The next try need not wait for this client.
    absl::MutexLock lock(&mutex_);
    taken_until_ = absl::InfinitePast();
    if (detached_) KeepDetached();
    return received.status();
  }
  taken.received_through = *received;
  return taken;
}

absl::Status Session::CheckTakeUp() const {
  const auto refusal = [this](absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat("session ", id(), " cannot be attached to: ", why));
  };
  if (!lost_.ok()) return refusal(lost_.message());
  if (state_ == State::STATE_CLOSING) return refusal("it is being closed");
  if (!options_.detachable) {
    return refusal("it was opened without a detached_lifetime");
  }
  // It is set when the last KeepAlive stream ends.
  if (!detached_) return refusal("it has a client");
  if (options_.now() < returning_until_) {
    return refusal(
        "it has a client, which may come back yet after the daemon's restart");
  }
  // Two would send commands with the same numbers.
  if (options_.now() < taken_until_) {
    return refusal("another client is taking it up");
  }
  return absl::OkStatus();
}

bool Session::HasToken(absl::string_view token) const {
  return token.size() == options_.token.size() &&
         CRYPTO_memcmp(token.data(), options_.token.data(), token.size()) == 0;
}

absl::StatusOr<std::string> Session::SendFd(int fd) const {
  return holdfast::SendFd(options_.descriptor_socket_path, options_.token, fd);
}

absl::StatusOr<std::shared_ptr<void>> Session::TakeExecuteCall() {
  auto place =
      std::shared_ptr<void>(nullptr, [this](void*) { --execute_calls_; });
  if (++execute_calls_ <= kMaxExecuteCalls) return place;
  return absl::ResourceExhaustedError(
      absl::StrCat("session ", options_.id, " has ", kMaxExecuteCalls,
                   " Execute calls open; the limit is ", kMaxExecuteCalls));
}

absl::Status Session::Serving() const {
  return AwaitLoss(absl::InfinitePast());
}

absl::Status Session::AwaitLoss(absl::Time deadline) const {
  absl::MutexLock lock(&mutex_);
  const auto over = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !lost_.ok() || state_ == State::STATE_CLOSING || Faulted();
  };
  mutex_.AwaitWithDeadline(absl::Condition(&over), deadline);
  if (!lost_.ok()) return lost_;
  if (Faulted()) return RefusedCall();
  if (state_ == State::STATE_CLOSING) {
    return LostStatus(id(), absl::CancelledError(closed_because_));
  }
  return absl::OkStatus();
}

bool Session::lost() const {
  absl::MutexLock lock(&mutex_);
  return !lost_.ok() || state_ == State::STATE_CLOSING;
}

int64_t Session::AddKeeper(Keeper on_end, FaultKeeper on_fault,
                           RestartKeeper on_restart) {
  absl::MutexLock keepers_lock(&keepers_mutex_);
  absl::MutexLock lock(&mutex_);
  const int64_t keeper = ++last_keeper_;
  ++open_keepers_;
  deadline_ = absl::InfiniteFuture();
  detached_ = false;
  kept_detached_ = DescriptorStore::Kept();
  returning_until_ = absl::InfinitePast();
  taken_until_ = absl::InfinitePast();
  if (state_ == State::STATE_DETACHED) {
    state_ = State::STATE_ACTIVE;
    const LogScope scope(log_fields_);
    LogFor(client(), LogLevel::kInfo, "session ", id(), " attached again");
  }
  if (!lost_.ok() || state_ == State::STATE_CLOSING) {
    on_end(lost_.ok() ? closed_because_ : std::string(lost_.message()));
    return keeper;
  }
  if (Faulted() && on_fault) on_fault(last_fault_, epoch_);
  keepers_[keeper] = {std::move(on_end), std::move(on_fault),
                      std::move(on_restart)};
  return keeper;
}

void Session::RemoveKeeper(int64_t keeper) {
  {
    absl::MutexLock keepers_lock(&keepers_mutex_);
    keepers_.erase(keeper);
    if (!Detach()) return;
  }
  options_.on_deadline_change();
}

bool Session::Detach() {
  absl::MutexLock lock(&mutex_);
  if (--open_keepers_ > 0) return false;
  detached_ = true;
  KeepDetached();
  const bool lost = state_ == State::STATE_LOST;
  deadline_ = options_.now() +
              (lost ? std::max(options_.grace, kLostKept) : options_.grace);
  if (state_ == State::STATE_ACTIVE) {
    state_ = State::STATE_DETACHED;
    const LogScope scope(log_fields_);
    LogFor(client(), LogLevel::kInfo, "session ", id(), " detached; ends in ",
           absl::FormatDuration(options_.grace), " unless it reconnects");
  }
  return true;
}

// A daemon that makes way ends its clients' streams: that is no leaving.
//
// The message to the service manager is sent with this session's locks held, as
// is the one that takes it back (AddKeeper), so that both arrive in the order
// of the changes. NotifyServiceManager gives a message up after a second while
// the manager's queue is full; the store sends one at a time, for all sessions.
void Session::KeepDetached() {
  if (options_.keep_detached == nullptr || left_ || kept_.empty()) return;
  kept_detached_ = options_.keep_detached();
}

absl::Time Session::deadline() const {
  absl::MutexLock lock(&mutex_);
  return deadline_;
}

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
  const absl::Status too_many = faults_.Note(options_.now());
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

void Session::SetLost(const absl::Status& reason) {
  lost_ = LostStatus(id(), reason);
  state_ = State::STATE_LOST;
  if (open_keepers_ == 0) deadline_ = options_.now() + kLostKept;
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
    blocks_ = std::move(recovered->blocks);
    *last_fault_.mutable_lost() = recovered->serving.lost();
    last_fault_.set_lost_count(recovered->serving.lost_count());
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

absl::Status Session::SetQuota(const v1::Quota& quota) {
  HOLDFAST_RETURN_IF_ERROR(CheckSessionQuota(quota));
  {
    absl::MutexLock quota_lock(&quota_mutex_);
    quota_ = quota;
    absl::MutexLock lock(&mutex_);
    *record_.mutable_quota() = quota;
    KeepRecord();
  }
  ApplyQuota();
  return absl::OkStatus();
}

// Allocations from now on are held to the quota: the executor has read of it
// when it answers a question that comes behind it. The first answer may be to
// somebody's question that was on its way before.
void Session::ApplyQuota() {
  const std::shared_ptr<Executor> executor = this->executor();
  {
    absl::MutexLock lock(&quota_mutex_);
    if (!quota_.has_value()) return;
    executor->UpdateLimits(Restrict(options_.limits, *quota_));
  }
  for (int i = 0; i < 2; ++i) executor->AskUsage(absl::Now() + kUsageTime);
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

// The record is the first of what is kept; nothing is once the session closes.
void Session::KeepRecord() {
  if (options_.keep_record == nullptr || kept_.empty()) return;
  kept_.front() = options_.keep_record(record_);
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

void Session::NotifyKeepers(const std::string& reason) {
  absl::MutexLock lock(&keepers_mutex_);
  const auto keepers = std::exchange(keepers_, {});
  for (const auto& [number, keeper] : keepers) keeper.on_end(reason);
}

void Session::TellKeepers(const v1::FaultReport& report, uint64_t epoch) {
  absl::MutexLock lock(&keepers_mutex_);
  for (const auto& [number, keeper] : keepers_) {
    if (keeper.on_fault) keeper.on_fault(report, epoch);
  }
}

void Session::Close(const std::string& reason, absl::Duration stop_time) {
  absl::MutexLock close_lock(&close_mutex_);
  {
    absl::MutexLock lock(&mutex_);
    if (state_ == State::STATE_CLOSING) return;
    state_ = State::STATE_CLOSING;
    closed_because_ = reason.empty() ? "it is being closed" : reason;
    kept_.clear();
    kept_detached_ = DescriptorStore::Kept();
  }
  NotifyKeepers(reason);
  std::thread recovery;
  std::unique_ptr<SessionHoldings> holdings;
  const std::shared_ptr<Executor> last = executor();
  last->OnEnd(nullptr);
  last->Stop(absl::Now() + stop_time);
  {
    absl::MutexLock lock(&mutex_);
    recovery.swap(recovery_thread_);
    holdings.swap(holdings_);
  }
  if (recovery.joinable()) recovery.join();
  unlink(options_.socket_path.c_str());
  unlink(options_.descriptor_socket_path.c_str());
  const LogScope scope(log_fields_);
  LogFor(client(), LogLevel::kInfo, "session ", id(), " closed",
         reason.empty() ? "" : ": ", reason);
}

}  // namespace holdfast::supervisor
