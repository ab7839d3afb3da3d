// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/keep_alive.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/connection/message_poller.h"
#include "client/cpp/connection/polled_call.h"
#include "client/cpp/connection/rpc_status.h"
#include "core/base/error_detail.h"
#include "core/base/start_thread.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "holdfast/v1/sessions.pb.h"
#include "proto/metadata.h"

namespace holdfast {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(10);
constexpr absl::Duration kLongestPause = absl::Seconds(1);

// The session is not there any more, as the daemon says.
bool IsFinal(const absl::Status& status) {
  const auto detail = GetErrorDetail(status);
  return absl::IsNotFound(status) || absl::IsUnauthenticated(status) ||
         (detail.has_value() && detail->session_lost);
}

}  // namespace

KeepAlive::KeepAlive(Connect connect, const std::string& token,
                     absl::Duration grace,
                     std::shared_ptr<RestartGrace> restart,
                     std::function<void(const std::string& reason)> ended)
    : connect_(std::move(connect)),
      token_(token),
      grace_(grace),
      restart_(std::move(restart)),
      ended_(std::move(ended)) {}

absl::StatusOr<std::unique_ptr<KeepAlive>> KeepAlive::Start(
    Connect connect, const std::string& token, absl::Duration grace,
    std::shared_ptr<RestartGrace> restart,
    std::function<void(const std::string& reason)> ended) {
  std::unique_ptr<KeepAlive> keep_alive(new KeepAlive(
      std::move(connect), token, grace, std::move(restart), std::move(ended)));
  HOLDFAST_ASSIGN_OR_RETURN(
      keep_alive->reader_,
      StartThread("what keeps a session alive",
                  [self = keep_alive.get()] { self->Run(); }));
  return keep_alive;
}

KeepAlive::~KeepAlive() {
  {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  if (reader_.joinable()) reader_.join();
}

bool KeepAlive::AwaitOpen(absl::Time deadline) const {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithDeadline(absl::Condition(&opened_), deadline);
}

void KeepAlive::Run() {
  absl::Duration pause = kFirstPause;
  while (true) {
    const absl::Time before = lost_;
    const absl::Status status = Hold();
    if (status.ok() || !Pause(absl::ZeroDuration())) return;
    if (IsFinal(status)) return ended_(std::string(status.message()));
    if (lost_ != before) pause = kFirstPause;  // There was a stream meanwhile.
    if (lost_ == absl::InfinitePast()) lost_ = SteadyNow();
    if (SteadyNow() - lost_ >= std::max(grace_, restart_->Get())) {
      return ended_(
          absl::StrCat("the daemon is gone (", status.message(), ")"));
    }
    if (!Pause(pause)) return;
    pause = std::min(pause * 2, kLongestPause);
  }
}

bool KeepAlive::Pause(absl::Duration pause) {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&closing_), pause);
  return !closing_;
}

absl::Status KeepAlive::Hold() {
  HOLDFAST_ASSIGN_OR_RETURN(const auto channel, connect_());
  grpc::ClientContext context;
  context.AddMetadata(kSessionTokenKey.name, token_);
  {
    absl::MutexLock lock(&mutex_);
    if (closing_) return absl::OkStatus();
    context_ = &context;
  }
  const absl::Status status = Read(context, channel);
  absl::MutexLock lock(&mutex_);
  context_ = nullptr;
  return status;
}

absl::Status KeepAlive::Read(grpc::ClientContext& context,
                             const std::shared_ptr<grpc::Channel>& channel) {
  HOLDFAST_ASSIGN_OR_RETURN(auto poller, MessagePoller::Get());
  PolledCall<v1::KeepAliveRequest, v1::KeepAliveResponse> call(
      std::move(poller), channel, "/holdfast.v1.SessionService/KeepAlive",
      context);
  call.Write({});
  v1::KeepAliveResponse response;
  bool told = false;
  bool open = false;
  while (call.Read(&response)) {
    if (!std::exchange(open, true)) {
      absl::MutexLock lock(&mutex_);
      opened_ = true;
    }
    if (response.has_restart_grace()) {
      restart_->Set(absl::Seconds(response.restart_grace().seconds()));
    } else {
      restart_->SetNone();
    }
    if (response.ended_because().empty() || told) continue;
    told = true;
    ended_(response.ended_because());
  }
  const absl::Status status = ToStatus(call.Finish());
  if (told) return absl::OkStatus();
  if (open) lost_ = SteadyNow();
  return status.ok() ? absl::UnavailableError("it has ended the stream")
                     : status;
}

}  // namespace holdfast
