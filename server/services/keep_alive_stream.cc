// SPDX-License-Identifier: Apache-2.0
#include "server/services/keep_alive_stream.h"

#include <utility>

namespace holdfast {

KeepAliveStream::KeepAliveStream(std::shared_ptr<Session> session)
    : session_(std::move(session)) {
  keeper_ = session_->AddKeeper(
      [this](const std::string& reason) { OnSessionEnd(reason); });
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
  // The client has left. No read is under way that would tell so as well.
  if (!ok && !ended_.has_value()) ended_ = "";
  if (!ended_.has_value()) StartRead(&request_);
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
    response_.set_ended_because(*ended_);
    return StartWriteAndFinish(&response_, {}, grpc::Status::OK);
  }
  if (answer_due_) {
    answer_due_ = false;
    writing_ = true;
    StartWrite(&response_);
  }
}

// gRPC calls it when all of its other calls have returned; RemoveKeeper waits
// for an OnSessionEnd that has not.
void KeepAliveStream::OnDone() {
  session_->RemoveKeeper(keeper_);
  delete this;
}

}  // namespace holdfast
