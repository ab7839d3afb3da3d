// SPDX-License-Identifier: Apache-2.0
#include "server/relay/ring_call.h"

#include <utility>

#include "absl/base/call_once.h"
#include "proto/metadata.h"

namespace holdfast {

const std::shared_ptr<grpc::Channel>* RingCall::kept_ = nullptr;

// gRPC's threads for callbacks end with the last channel or server that uses
// them, and a call that is its channel's last owner ends in one of them, which
// cannot wait for itself: so one channel stays.
RingCall::RingCall(std::shared_ptr<grpc::Channel> executor) : stub_(executor) {
  static absl::once_flag first;
  absl::call_once(first, [&executor] {
    kept_ = new std::shared_ptr<grpc::Channel>(std::move(executor));
  });
}

void RingCall::Start(const std::string& method, const std::string& ring_token,
                     std::function<void()> on_end) {
  on_end_ = std::move(on_end);
  context_.AddMetadata(kRingsKey.name, ring_token);
  {
    absl::MutexLock lock(&mutex_);
    self_ = shared_from_this();
  }
  stub_.PrepareBidiStreamingCall(&context_, method, {}, this);
  AddHold();  // Until nothing more goes up.
  StartRead(&none_);
  StartCall();
}

void RingCall::OnReadInitialMetadataDone(bool ok) {
  const auto& metadata = context_.GetServerInitialMetadata();
  absl::MutexLock lock(&mutex_);
  taken_ = ok && metadata.count(kRingsKey.name) > 0;
}

// The call's end, or a message, of which there are none.
void RingCall::OnReadDone(bool ok) {
  if (ok) context_.TryCancel();
  absl::MutexLock lock(&mutex_);
  spoke_ = ok;
  if (std::exchange(held_, false)) RemoveHold();
}

void RingCall::OnDone(const grpc::Status& status) {
  if (on_end_ != nullptr) on_end_();
  std::shared_ptr<RingCall> self;  // Dropped without the lock.
  absl::MutexLock lock(&mutex_);
  self.swap(self_);
  ended_ = status;
}

bool RingCall::AwaitTaken() {
  absl::MutexLock lock(&mutex_);
  const auto answered = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return taken_.has_value() || ended_.has_value();
  };
  mutex_.Await(absl::Condition(&answered));
  return taken_.value_or(false);
}

void RingCall::EndUp() {
  absl::MutexLock lock(&mutex_);
  if (!std::exchange(held_, false)) return;
  StartWritesDone();
  RemoveHold();
}

bool RingCall::ended() const {
  absl::MutexLock lock(&mutex_);
  return ended_.has_value();
}

grpc::Status RingCall::AwaitEnd() {
  absl::MutexLock lock(&mutex_);
  const auto ended = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return ended_.has_value();
  };
  mutex_.Await(absl::Condition(&ended));
  if (spoke_) {
    return {grpc::StatusCode::INTERNAL,
            "the executor answered by gRPC though it has rings"};
  }
  if (ended_->ok() && !taken_.value_or(false)) {
    return {grpc::StatusCode::INTERNAL, "the executor did not take the rings"};
  }
  return *ended_;
}

}  // namespace holdfast
