// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/command_queue.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/rpc_status.h"
#include "core/base/status_macros.h"
#include "google/protobuf/arena.h"

namespace holdfast {

absl::StatusOr<v1::Result> PendingResult::Wait() const {
  state_->done.WaitForNotification();
  return state_->result;
}

// One message and the memory that it lives in, used again and again.
struct CommandQueue::Batch {
  explicit Batch(size_t size) : block(size), arena(Options()) { Clear(); }

  void Clear() {
    arena.Reset();
    message = google::protobuf::Arena::CreateMessage<v1::CommandBatch>(&arena);
    bytes = 0;
  }
  bool empty() const { return message->commands().empty(); }

  google::protobuf::ArenaOptions Options() {
    google::protobuf::ArenaOptions options;
    options.initial_block = block.data();
    options.initial_block_size = block.size();
    return options;
  }

  std::vector<char> block;
  google::protobuf::Arena arena;
  v1::CommandBatch* message = nullptr;
  size_t bytes = 0;
};

CommandQueue::CommandQueue(
    std::unique_ptr<v1::CommandService::StubInterface> stub, Options options)
    : options_(std::move(options)),
      stub_(std::move(stub)),
      sending_(std::make_unique<Batch>(options_.batch_bytes)),
      filling_(std::make_unique<Batch>(options_.batch_bytes)) {
  context_.AddMetadata("holdfast-session-token", options_.token);
  stream_ = stub_->Execute(&context_);
  reader_ = std::thread([this] { ReadResults(); });
  late_flusher_ = std::thread([this] { FlushLate(); });
}

CommandQueue::~CommandQueue() { Close(); }

void CommandQueue::Close() {
  Lose(absl::CancelledError("the session was closed"));
  context_.TryCancel();
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
    flush_late_.Signal();
  }
  if (late_flusher_.joinable()) late_flusher_.join();
  if (reader_.joinable()) reader_.join();
}

absl::StatusOr<uint64_t> CommandQueue::Append(Fill fill, bool* full) {
  if (!lost_.ok()) return lost_;
  v1::CommandBatch& batch = *filling_->message;
  if (batch.commands().empty()) {
    batch.set_first_sequence(last_sequence_ + 1);
    flush_late_.Signal();
  }
  v1::Command* command = batch.add_commands();
  fill(*command);
  const size_t bytes = command->ByteSizeLong();
  if (bytes > options_.max_command_bytes) {
    batch.mutable_commands()->RemoveLast();
    return absl::InvalidArgumentError(absl::StrCat("the command has ", bytes,
                                                   " bytes, the limit is ",
                                                   options_.max_command_bytes));
  }
  filling_->bytes += bytes;
  *full = filling_->bytes >= options_.batch_bytes ||
          batch.commands_size() >= static_cast<int>(options_.batch_commands);
  return ++last_sequence_;
}

absl::StatusOr<uint64_t> CommandQueue::Submit(Fill fill, bool creates) {
  bool full = false;
  uint64_t sequence = 0;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_ASSIGN_OR_RETURN(sequence, Append(fill, &full));
    if (creates) failures_.Watch(sequence);
  }
  if (full) Flush();
  return sequence;
}

absl::StatusOr<PendingResult> CommandQueue::SubmitForResult(Fill fill) {
  auto state = std::make_shared<PendingResult::State>();
  bool full = false;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_ASSIGN_OR_RETURN(state->sequence, Append(fill, &full));
    pending_.emplace(state->sequence, state);
  }
  if (full) Flush();
  return PendingResult(std::move(state));
}

absl::StatusOr<v1::Result> CommandQueue::Call(Fill fill) {
  HOLDFAST_ASSIGN_OR_RETURN(PendingResult result, SubmitForResult(fill));
  Flush();
  return result.Wait();
}

uint64_t CommandQueue::Flush() {
  absl::MutexLock write_lock(&write_mutex_);
  uint64_t last = 0;
  {
    absl::MutexLock lock(&mutex_);
    last = last_sequence_;
    if (filling_->empty()) return last;
    std::swap(filling_, sending_);
  }
  // A failed write means that the stream is broken; the reader learns why.
  stream_->Write(*sending_->message);
  sending_->Clear();
  return last;
}

void CommandQueue::FlushLate() {
  mutex_.Lock();
  while (!stop_) {
    if (filling_->empty()) {
      flush_late_.Wait(&mutex_);
      continue;
    }
    const uint64_t first = filling_->message->first_sequence();
    const absl::Time deadline = absl::Now() + options_.flush_delay;
    while (!stop_ && !flush_late_.WaitWithDeadline(&mutex_, deadline)) {
    }
    if (stop_ || filling_->empty() ||
        filling_->message->first_sequence() != first) {
      continue;
    }
    mutex_.Unlock();
    Flush();
    mutex_.Lock();
  }
  mutex_.Unlock();
}

void CommandQueue::ReadResults() {
  v1::ResultBatch batch;
  while (stream_->Read(&batch)) {
    for (v1::Result& result : *batch.mutable_results()) {
      Deliver(std::move(result));
    }
  }
  const absl::Status status = ToStatus(stream_->Finish());
  bool lost = false;
  {
    absl::MutexLock lock(&mutex_);
    lost = !lost_.ok();
  }
  if (lost) return;
  Lose(options_.explain_loss ? options_.explain_loss(status)
                             : absl::UnavailableError(status.message()));
}

void CommandQueue::Deliver(v1::Result result) {
  const absl::Status error =
      result.has_error() ? ToStatus(result.error()) : absl::OkStatus();
  std::shared_ptr<PendingResult::State> waiter;
  {
    absl::MutexLock lock(&mutex_);
    if (auto found = pending_.find(result.sequence());
        found != pending_.end()) {
      waiter = std::move(found->second);
      pending_.erase(found);
    } else if (!error.ok()) {
      failures_.Add(result.sequence(), error);
    }
  }
  if (waiter == nullptr) return;
  if (error.ok()) {
    waiter->result = std::move(result);
  } else {
    waiter->result = error;
  }
  waiter->done.Notify();
}

absl::Status CommandQueue::TakeFailure() {
  absl::MutexLock lock(&mutex_);
  absl::Status failure = failures_.Take();
  return failure.ok() ? lost_ : failure;
}

absl::Status CommandQueue::FailureOf(uint64_t sequence) const {
  absl::MutexLock lock(&mutex_);
  const absl::Status failure = failures_.Of(sequence);
  return failure.ok() ? lost_ : failure;
}

void CommandQueue::Forget(uint64_t sequence) {
  absl::MutexLock lock(&mutex_);
  failures_.Unwatch(sequence);
}

void CommandQueue::Lose(const absl::Status& reason) {
  decltype(pending_) pending;
  {
    absl::MutexLock lock(&mutex_);
    if (!lost_.ok()) return;
    lost_ = reason;
    pending.swap(pending_);
  }
  for (auto& [sequence, state] : pending) {
    state->result = reason;
    state->done.Notify();
  }
}

}  // namespace holdfast
