// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/descriptor_socket.h"
#include "core/base/error_detail.h"
#include "core/base/log.h"
#include "core/base/log_scope.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "proto/transport.h"
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
      transfer_pipes_(std::make_shared<TransferPipes>(TransferPipes::Executor{
          .channel = channel_,
          .send_fd = [this](int fd) { return SendFd(fd); },
          .session_token = absl::BytesToHexString(options_.token)})),
      executor_(std::move(executor)),
      faults_(options_.fault_limits),
      deadline_(options_.lease_time() + kFirstKeepAlive) {}

std::shared_ptr<Executor> Session::executor() const {
  absl::MutexLock lock(&mutex_);
  return executor_;
}

Session::~Session() { Close("the daemon has dropped it"); }

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
    *info.mutable_ends() =
        ToTimestamp(options_.now() + (deadline_ - options_.lease_time()));
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
  deadline_ = std::max(deadline_, options_.lease_time() + kFirstKeepAlive);
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
    taken_until_ = options_.lease_time() + kFirstKeepAlive;
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
  if (options_.lease_time() < returning_until_) {
    return refusal(
        "it has a client, which may come back yet after the daemon's restart");
  }
  // Two would send commands with the same numbers.
  if (options_.lease_time() < taken_until_) {
    return refusal("another client is taking it up");
  }
  return absl::OkStatus();
}

bool Session::HasToken(absl::string_view token) const {
  return EqualTokens(token, options_.token);
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

void Session::SetLost(const absl::Status& reason) {
  lost_ = LostStatus(id(), reason);
  state_ = State::STATE_LOST;
  if (open_keepers_ == 0) deadline_ = options_.lease_time() + kLostKept;
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
  deadline_ = options_.lease_time() +
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

// The record is the first of what is kept; nothing is once the session closes.
void Session::KeepRecord() {
  if (options_.keep_record == nullptr || kept_.empty()) return;
  kept_.front() = options_.keep_record(record_);
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
  transfer_pipes_->Close();
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
