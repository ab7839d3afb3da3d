// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/served_stream.h"

#include <utility>

#include "server/rpc/status_conversion.h"

namespace holdfast {

void ServedStream::Serve(CallThreads& threads,
                         std::function<absl::Status()> serve,
                         const std::string& client) {
  const absl::Status running =
      threads.Run(client, [this, serve = std::move(serve)]() mutable {
        const absl::Status status = serve();
        serve = nullptr;  // And what it holds.
        End(status);
      });
  if (!running.ok()) End(running);
}

void ServedStream::ServeMessages(CallThreads& threads,
                                 std::function<absl::Status()> serve,
                                 const std::string& client) {
  {
    absl::MutexLock lock(&mutex_);
    begin_ = [this, &threads, serve = std::move(serve), client]() mutable {
      Serve(threads, std::move(serve), client);
    };
    watch_.emplace(*stall_guard_, context_);
  }
  ReadAhead();
}

void ServedStream::End(const absl::Status& status) {
  {
    absl::MutexLock lock(&mutex_);
    end_ = status;
    if (writing_) return;  // OnWriteDone goes on.
  }
  FinishNow();
}

// The call may not exist any more afterwards: without the lock, therefore.
// Nothing else happens to it by now.
void ServedStream::FinishNow() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (!end_->ok() || !last_.has_value()) return Finish(ToGrpcStatus(*end_));
  if (stall_guard_ != nullptr) watch_.emplace(*stall_guard_, context_);
  StartWriteAndFinish(&*last_, grpc::WriteOptions(), grpc::Status::OK);
}

void ServedStream::ReadAhead() {
  absl::MutexLock lock(&mutex_);
  reading_ = true;
  StartRead(&incoming_);
}

void ServedStream::ReadOn() {
  absl::MutexLock lock(&mutex_);
  reading_ = false;
  ReadMore();
}

void ServedStream::ReadMore() {
  if (reading_ || no_more_ || end_.has_value()) return;
  if (waiting_.size() == kMaxAhead || waiting_bytes_ >= max_ahead_bytes_)
    return;
  reading_ = true;
  StartRead(&incoming_);
}

void ServedStream::OnReadDone(bool ok) {
  std::function<void()> begin;
  {
    absl::MutexLock lock(&mutex_);
    begin.swap(begin_);
    if (begin != nullptr) watch_.reset();
    reading_ = false;
    no_more_ = !ok;
    if (ok) {
      waiting_bytes_ += incoming_.Length();
      waiting_.emplace_back().Swap(&incoming_);
    }
    readable_ = true;
    if (tell_ != nullptr) tell_();
    ReadMore();
  }
  if (begin != nullptr) begin();
}

void ServedStream::TellReadable(std::function<void()> tell) {
  absl::MutexLock lock(&mutex_);
  tell_ = std::move(tell);
}

bool ServedStream::Read(grpc::ByteBuffer* message) {
  absl::MutexLock lock(&mutex_);
  if (!readable_) {
    std::optional<StallGuard::Watch> watch;
    if (stall_guard_ != nullptr) watch.emplace(*stall_guard_, context_);
    const auto come = [this] { return readable_.load(); };
    mutex_.Await(absl::Condition(&come));
  }
  if (waiting_.empty()) return false;
  message->Clear();
  message->Swap(&waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= message->Length();
  readable_ = !waiting_.empty() || no_more_;
  ReadMore();
  return true;
}

bool ServedStream::AwaitNoMore(absl::Duration limit) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&no_more_), limit);
}

void ServedStream::AwaitIdle() {
  const auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !writing_;
  };
  mutex_.Await(absl::Condition(&idle));
}

bool ServedStream::Write(grpc::ByteBuffer message) {
  absl::MutexLock lock(&mutex_);
  AwaitIdle();
  if (gone_) return false;
  Start(&message);
  return true;
}

bool ServedStream::TryWrite(grpc::ByteBuffer message) {
  absl::MutexLock lock(&mutex_);
  if (writing_ || gone_) return false;
  Start(&message);
  return true;
}

void ServedStream::Start(grpc::ByteBuffer* message) {
  outgoing_.Swap(message);
  writing_ = true;
  if (stall_guard_ != nullptr) watch_.emplace(*stall_guard_, context_);
  StartWrite(&outgoing_);
}

bool ServedStream::AwaitWritten() {
  absl::MutexLock lock(&mutex_);
  AwaitIdle();
  return !gone_;
}

void ServedStream::WriteLast(grpc::ByteBuffer message) {
  last_ = std::move(message);
}

void ServedStream::OnWriteDone(bool ok) {
  grpc::ByteBuffer written;  // Released without the lock.
  {
    absl::MutexLock lock(&mutex_);
    watch_.reset();
    written.Swap(&outgoing_);
    writing_ = false;
    gone_ = gone_ || !ok;
    if (!end_.has_value()) return;
  }
  FinishNow();
}

}  // namespace holdfast
