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

// Lines about the session have its tenant, and the trace of the call that
// opened it.
LogFields FieldsOf(const Session::Options& options) {
  LogFields fields = LogScope::Current();
  fields.session = options.id;
  fields.tenant = options.client;
  return fields;
}

std::vector<uint32_t> FirstDevices(const Session::Options& options) {
  return options.recovery == nullptr ? options.devices
                                     : options.recovery->devices();
}

}  // namespace

Session::Session(Options options, std::shared_ptr<Executor> executor)
    : Session{options.now(),
              session::Lease(options.grace, options.lease_time()),
              std::move(options), [&executor](SessionLife::Options life) {
                return std::make_unique<SessionLife>(std::move(life),
                                                     std::move(executor));
              }} {
  life_->Start();
}

Session::Session(Options options, Left left)
    : Session{left.opened,
              session::Lease::Left(options.grace, options.lease_time(),
                                   !left.detached),
              std::move(options), [&left](SessionLife::Options life) {
                return std::make_unique<SessionLife>(
                    std::move(life),
                    SessionLife::Left{.holdings = std::move(left.holdings),
                                      .epoch = left.epoch,
                                      .idle = left.idle});
              }} {
  {
    absl::MutexLock lock(&mutex_);
    if (left.detached) kept_.SetDetached();
    if (lost()) lease_.NoteLost(options_.lease_time());
  }
  life_->Start();
}

Session::Session(
    absl::Time opened, session::Lease lease, Options options,
    const std::function<std::unique_ptr<SessionLife>(SessionLife::Options)>&
        begin)
    : options_(std::move(options)),
      log_fields_(FieldsOf(options_)),
      opened_(opened),
      channel_(ConnectToExecutor(options_.socket_path)),
      transfer_pipes_(std::make_shared<TransferPipes>(TransferPipes::Executor{
          .channel = channel_,
          // The next executor's socket listens before there is one.
          .send_fd = [this](int fd) -> absl::StatusOr<std::string> {
            HOLDFAST_RETURN_IF_ERROR(Serving());
            return SendFd(fd);
          },
          .session_token = absl::BytesToHexString(options_.token)})),
      quota_(options_.quota),
      lease_(lease),
      kept_(std::move(options_.kept)),
      current_devices_(FirstDevices(options_)),
      life_(begin({.id = options_.id,
                   .client = options_.client,
                   .log_fields = log_fields_,
                   .recover = options_.recover,
                   .fault_limits = options_.fault_limits,
                   .recovery = std::move(options_.recovery),
                   .now = options_.now,
                   .lease_time = options_.lease_time,
                   .on_change = [this] { OnChange(); },
                   .on_devices =
                       [this](const std::vector<uint32_t>& devices) {
                         OnDevices(devices);
                       },
                   .on_restored = [this] { ApplyQuota(); }})) {}

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
  life_->Describe(lease_.detached(), &info);
  info.mutable_devices()->Add(current_devices_.begin(), current_devices_.end());
  if (current_devices_ != options_.devices) {
    info.set_moved_from(options_.devices.front());
  }
  if (lease_.deadline() < absl::InfiniteFuture()) {
    *info.mutable_ends() = ToTimestamp(
        options_.now() + (lease_.deadline() - options_.lease_time()));
  }
  return info;
}

void Session::NoteAttach() {
  absl::MutexLock lock(&mutex_);
  lease_.Attach(options_.lease_time());
}

absl::StatusOr<Session::TakenUp> Session::TakeUp() {
  TakenUp taken;
  taken.token = options_.token;
  {
    absl::MutexLock lock(&mutex_);
    // The end of a client that has just left may not have been noticed.
    const auto left = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return lease_.detached() || !options_.detachable;
    };
    mutex_.AwaitWithTimeout(absl::Condition(&left), kLeaveTime);
    HOLDFAST_RETURN_IF_ERROR(CheckTakeUp());
    lease_.Claim(options_.lease_time());
    kept_.SetAttached();  // It has a client, or will.
  }
  taken.epoch = life_->epoch();
  if (const auto halt = life_->halt(); halt.has_value()) {
    taken.received_through = halt->report.received_through();
    taken.fault = halt->report;
    taken.epoch = halt->epoch;
    return taken;
  }
  const auto received = executor()->ReceivedThrough();
  if (!received.ok()) {
    // It is ending. The next try need not wait for this client.
    absl::MutexLock lock(&mutex_);
    lease_.Unclaim();
    if (lease_.detached()) kept_.SetDetached();
    return received.status();
  }
  taken.received_through = *received;
  return taken;
}

absl::Status Session::CheckTakeUp() const {
  const std::string prefix =
      absl::StrCat("session ", id(), " cannot be attached to");
  if (lost()) {
    return absl::FailedPreconditionError(
        absl::StrCat(prefix, ": ", Serving().message()));
  }
  if (!options_.detachable) {
    return absl::FailedPreconditionError(
        absl::StrCat(prefix, ": it was opened without a detached_lifetime"));
  }
  return WithPrefix(prefix, lease_.CheckClaim(options_.lease_time()));
}

bool Session::HasToken(absl::string_view token) const {
  return EqualTokens(token, options_.token);
}

absl::StatusOr<std::string> Session::SendFd(int fd) const {
  return holdfast::SendFd(options_.descriptor_socket_path, options_.token, fd);
}

bool Session::Greet(const KeepAliveStreams::Stream& stream) const {
  if (lost()) {
    absl::MutexLock lock(&mutex_);
    stream.on_end(closed_because_.empty() ? std::string(Serving().message())
                                          : closed_because_);
    return false;
  }
  const auto halt = life_->halt();
  if (halt.has_value() && stream.on_fault) {
    stream.on_fault(halt->report, halt->epoch);
  }
  return true;
}

int64_t Session::AddKeeper(Keeper on_end, FaultKeeper on_fault,
                           RestartKeeper on_restart) {
  {
    absl::MutexLock lock(&mutex_);
    const bool detached = lease_.detached();
    lease_.Connect();
    kept_.SetAttached();
    if (detached && IsServing(life_->state())) {
      const LogScope scope(log_fields_);
      LogFor(client(), LogLevel::kInfo, "session ", id(), " attached again");
    }
  }
  return streams_.Add(
      {std::move(on_end), std::move(on_fault), std::move(on_restart)},
      [this](const KeepAliveStreams::Stream& stream) { return Greet(stream); });
}

void Session::RemoveKeeper(int64_t keeper) {
  streams_.Remove(keeper);
  {
    absl::MutexLock lock(&mutex_);
    if (!lease_.Disconnect(options_.lease_time())) return;
    kept_.SetDetached();
    if (IsServing(life_->state())) {
      const LogScope scope(log_fields_);
      LogFor(client(), LogLevel::kInfo, "session ", id(), " detached; ends ",
             options_.grace == absl::ZeroDuration()
                 ? "at once"
                 : absl::StrCat("in ", absl::FormatDuration(options_.grace),
                                " unless it reconnects"));
    }
  }
  options_.on_deadline_change();
}

void Session::OnChange() {
  if (lost()) {
    const std::string reason(Serving().message());
    {
      absl::MutexLock lock(&mutex_);
      lease_.NoteLost(options_.lease_time());
    }
    streams_.End(reason);
    return options_.on_deadline_change();
  }
  streams_.ForEach(
      [this](const KeepAliveStreams::Stream& stream) { Greet(stream); });
}

void Session::OnDevices(const std::vector<uint32_t>& devices) {
  absl::MutexLock lock(&mutex_);
  if (devices == current_devices_) return;
  LogFor(client(), LogLevel::kInfo, "session ", id(), " goes to device ",
         devices.front(), "; its client names it ", options_.devices.front());
  current_devices_ = devices;
  kept_.SetDevice(devices.front());
}

absl::Status Session::ResumeSuspended(std::optional<uint32_t> device,
                                      absl::Time deadline) {
  HOLDFAST_RETURN_IF_ERROR(life_->ResumeSuspended(device, deadline));
  const uint32_t now = current_devices().front();
  if (!device.has_value() || now == *device) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("session ", id(), " did not come back on device ", *device,
                   ", as the daemon's log says, and is on device ", now));
}

void Session::TellRestart() {
  life_->Leave();
  {
    absl::MutexLock lock(&mutex_);
    kept_.Leave();
  }
  streams_.ForEach([](const KeepAliveStreams::Stream& stream) {
    if (stream.on_restart) stream.on_restart();
  });
}

absl::Time Session::deadline() const {
  absl::MutexLock lock(&mutex_);
  return lease_.deadline();
}

absl::Status Session::SetQuota(const v1::Quota& quota) {
  HOLDFAST_RETURN_IF_ERROR(CheckSessionQuota(quota));
  {
    absl::MutexLock quota_lock(&quota_mutex_);
    quota_ = quota;
    absl::MutexLock lock(&mutex_);
    kept_.SetQuota(quota);
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

void Session::ReleaseRemains() {
  absl::MutexLock closing(&close_mutex_);
  if (!life_->HasRemains()) return;
  const LogScope scope(log_fields_);
  transfer_pipes_->Close();
  life_->ReleaseRemains();
  absl::MutexLock lock(&mutex_);
  kept_.Close();
}

void Session::Close(const std::string& reason, absl::Duration stop_time) {
  absl::MutexLock close_lock(&close_mutex_);
  {
    absl::MutexLock lock(&mutex_);
    if (!closed_because_.empty()) return;
    closed_because_ = reason.empty() ? "it is being closed" : reason;
    life_->Close(closed_because_);
    kept_.Close();
  }
  streams_.End(reason);
  transfer_pipes_->Close();
  life_->End(absl::Now() + stop_time);
  unlink(options_.socket_path.c_str());
  unlink(options_.descriptor_socket_path.c_str());
  const LogScope scope(log_fields_);
  LogFor(client(), LogLevel::kInfo, "session ", id(), " closed",
         reason.empty() ? "" : ": ", reason);
}

}  // namespace holdfast::supervisor
