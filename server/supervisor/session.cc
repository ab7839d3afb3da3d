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
#include "core/base/error_detail.h"
#include "core/base/log.h"
#include "proto/transport.h"

namespace holdfast {
namespace {

using State = v1::SessionInfo;

// An executor that is slow to answer is shown as it was.
constexpr absl::Duration kUsageTime = absl::Milliseconds(200);

std::shared_ptr<grpc::Channel> ConnectToExecutor(const std::string& path) {
  grpc::ChannelArguments arguments;
  // What may be sent is the executor's to decide, not the forwarder's.
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

absl::Status LostStatus(const std::string& id, const absl::Status& reason) {
  absl::Status status = absl::UnavailableError(absl::StrCat(
      "session ", id, " is lost with all its resources: ", reason.message()));
  ErrorDetail detail;
  detail.session_lost = true;
  SetErrorDetail(detail, &status);
  return status;
}

}  // namespace

Session::Session(Options options, std::unique_ptr<Executor> executor)
    : options_(std::move(options)),
      opened_(options_.now()),
      channel_(ConnectToExecutor(options_.socket_path)),
      executor_(std::move(executor)),
      deadline_(opened_ + kFirstKeepAlive) {
  executor_->OnEnd([this](absl::Status reason) { OnExecutorEnd(reason); });
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
  info.set_executor_pid(executor_->pid());
  info.mutable_opened()->set_seconds(absl::ToUnixSeconds(opened_));
  info.mutable_opened()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(
          opened_ - absl::FromUnixSeconds(absl::ToUnixSeconds(opened_)))));
  const internal::Usage usage = executor_->AskUsage(absl::Now() + kUsageTime);
  *info.mutable_usage() = usage.usage();
  info.set_memory_bytes(usage.usage().device_bytes().used());
  info.set_arena_bytes(usage.usage().arena_bytes().used());
  *info.mutable_copies() = usage.copies();
  absl::MutexLock lock(&mutex_);
  info.set_state(state_);
  return info;
}

bool Session::HasToken(absl::string_view token) const {
  return token.size() == options_.token.size() &&
         CRYPTO_memcmp(token.data(), options_.token.data(), token.size()) == 0;
}

absl::Status Session::Serving() const {
  return AwaitLoss(absl::InfinitePast());
}

absl::Status Session::AwaitLoss(absl::Time deadline) const {
  absl::MutexLock lock(&mutex_);
  const auto over = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !lost_.ok() || state_ == State::STATE_CLOSING;
  };
  mutex_.AwaitWithDeadline(absl::Condition(&over), deadline);
  if (!lost_.ok()) return lost_;
  if (state_ == State::STATE_CLOSING) {
    return LostStatus(id(), absl::CancelledError("it is being closed"));
  }
  return absl::OkStatus();
}

int64_t Session::AddKeeper(Keeper on_end) {
  absl::MutexLock keepers_lock(&keepers_mutex_);
  absl::MutexLock lock(&mutex_);
  const int64_t keeper = ++last_keeper_;
  ++open_keepers_;
  deadline_ = absl::InfiniteFuture();
  if (state_ == State::STATE_DETACHED) {
    state_ = State::STATE_ACTIVE;
    LogFor(client(), LogLevel::kInfo, "session ", id(), " attached again");
  }
  if (lost_.ok() && state_ == State::STATE_ACTIVE) {
    keepers_[keeper] = std::move(on_end);
  } else {
    on_end(std::string(lost_.message()));
  }
  return keeper;
}

void Session::RemoveKeeper(int64_t keeper) {
  {
    absl::MutexLock keepers_lock(&keepers_mutex_);
    keepers_.erase(keeper);
    absl::MutexLock lock(&mutex_);
    if (--open_keepers_ > 0) return;
    const bool lost = state_ == State::STATE_LOST;
    deadline_ = options_.now() +
                (lost ? std::max(options_.grace, kLostKept) : options_.grace);
    if (state_ == State::STATE_ACTIVE) {
      state_ = State::STATE_DETACHED;
      LogFor(client(), LogLevel::kInfo, "session ", id(), " detached; ends in ",
             absl::FormatDuration(options_.grace), " unless it reconnects");
    }
  }
  options_.on_deadline_change();
}

absl::Time Session::deadline() const {
  absl::MutexLock lock(&mutex_);
  return deadline_;
}

void Session::OnExecutorEnd(const absl::Status& reason) {
  std::string message;
  {
    absl::MutexLock lock(&mutex_);
    if (state_ == State::STATE_CLOSING) return;
    lost_ = LostStatus(id(), reason);
    state_ = State::STATE_LOST;
    message = std::string(lost_.message());
    if (open_keepers_ == 0) deadline_ = options_.now() + kLostKept;
  }
  LogFor(client(), LogLevel::kError, message);
  NotifyKeepers(message);
  options_.on_deadline_change();
}

void Session::NotifyKeepers(const std::string& reason) {
  absl::MutexLock lock(&keepers_mutex_);
  std::map<int64_t, Keeper> keepers = std::exchange(keepers_, {});
  for (const auto& [keeper, on_end] : keepers) on_end(reason);
}

void Session::Close(const std::string& reason, absl::Duration stop_time) {
  absl::MutexLock close_lock(&close_mutex_);
  {
    absl::MutexLock lock(&mutex_);
    if (state_ == State::STATE_CLOSING) return;
    state_ = State::STATE_CLOSING;
  }
  NotifyKeepers(reason);
  executor_->OnEnd(nullptr);
  executor_->Stop(absl::Now() + stop_time);
  unlink(options_.socket_path.c_str());
  unlink(options_.descriptor_socket_path.c_str());
  LogFor(client(), LogLevel::kInfo, "session ", id(), " closed",
         reason.empty() ? "" : ": ", reason);
}

}  // namespace holdfast
