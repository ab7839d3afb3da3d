// SPDX-License-Identifier: Apache-2.0
#include "server/services/keep_alive_stream.h"

#include <utility>

namespace holdfast {
namespace {

constexpr size_t kMaxNews = 4;

// How long a client waits for the next daemon: that one starts its first
// executor before it serves.
constexpr int kRestartSeconds = 60;

}  // namespace

KeepAliveStream::KeepAliveStream(std::shared_ptr<supervisor::Session> session,
                                 bool outlives_kill)
    : session_(std::move(session)), outlives_kill_(outlives_kill) {
  keeper_ = session_->AddKeeper(
      [this](const std::string& reason) { OnSessionEnd(reason); },
      [this](const v1::FaultReport& report, uint64_t epoch) {
        OnFault(report, epoch);
      },
      [this] { OnRestart(); });
  StartRead(&request_);
}

void KeepAliveStream::OnReadDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  if (ok) {
    answer_due_ = true;
  } else if (!ended_.has_value()) {
    ended_ = "";  // The client has left.
  }
  Proceed();
}

void KeepAliveStream::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  const bool answered = std::exchange(answering_, false);
  // The client has left. No read is under way that would tell so as well.
  if (!ok && !ended_.has_value()) ended_ = "";
  if (answered && !ended_.has_value()) StartRead(&request_);
  Proceed();
}

void KeepAliveStream::OnFault(const v1::FaultReport& report, uint64_t epoch) {
  absl::MutexLock lock(&mutex_);
  // A client that does not read gets the latest.
  if (news_.size() == kMaxNews) news_.pop_front();
  v1::KeepAliveResponse& response = news_.emplace_back();
  *response.mutable_fault() = report;
  response.set_epoch(epoch);
  Proceed();
}

void KeepAliveStream::OnRestart() {
  absl::MutexLock lock(&mutex_);
  news_.emplace_back().mutable_restart_grace()->set_seconds(kRestartSeconds);
  Proceed();
}

void KeepAliveStream::OnSessionEnd(const std::string& reason) {
  absl::MutexLock lock(&mutex_);
  if (!ended_.has_value()) ended_ = reason;
  Proceed();
}

void KeepAliveStream::Proceed() {
  if (writing_ || finished_) return;
  if (ended_.has_value()) {
    finished_ = true;
    if (ended_->empty()) return Finish(grpc::Status::OK);
    response_.Clear();
    response_.set_ended_because(*ended_);
    return StartWriteAndFinish(&response_, {}, grpc::Status::OK);
  }
  if (!answer_due_ && news_.empty()) return;
  response_.Clear();
  writing_ = true;
  if (!news_.empty()) {
    response_.Swap(&news_.front());
    news_.pop_front();
  } else {
    answering_ = std::exchange(answer_due_, false);
    if (outlives_kill_) {
      response_.mutable_restart_grace()->set_seconds(kRestartSeconds);
    }
  }
  StartWrite(&response_);
}

// gRPC calls it when all of its other calls have returned; RemoveKeeper waits
// for an OnSessionEnd that has not.
void KeepAliveStream::OnDone() {
  session_->RemoveKeeper(keeper_);
  delete this;
}

}  // namespace holdfast
