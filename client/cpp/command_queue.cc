// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/command_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/rpc_status.h"
#include "core/base/spin.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// A result that somebody waits for is looked for all the time at first, as CUDA
// looks for what it waits for.
constexpr std::chrono::milliseconds kEagerTime(2);

// The late flusher goes to sleep after so many looks at an empty batch.
constexpr int kEmptyLooks = 20;

}  // namespace

absl::StatusOr<v1::Result> PendingResult::Wait() const {
  NapUntil(
      [this] {
        state_->queue->ReadWhatHasCome();
        return state_->done.HasBeenNotified();
      },
      kEagerTime);
  state_->done.WaitForNotification();
  return state_->result;
}

CommandQueue::CommandQueue(std::shared_ptr<grpc::ChannelInterface> channel,
                           ExecuteStream::Options stream, Options options)
    : options_(std::move(options)),
      pool_(std::make_shared<CommandBatchPool>(options_.batch_bytes)),
      stream_(std::move(channel), std::move(stream)),
      filling_(pool_->Get()) {
  reader_ = std::thread([this] { ReadResults(); });
  late_flusher_ = std::thread([this] { FlushLate(); });
}

CommandQueue::~CommandQueue() { Close(); }

void CommandQueue::Close() {
  Lose(absl::CancelledError("the session was closed"));
  stream_.Cancel();
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
    flush_late_.Signal();
  }
  if (late_flusher_.joinable()) late_flusher_.join();
  if (reader_.joinable()) reader_.join();
}

absl::StatusOr<uint64_t> CommandQueue::Append(Encode encode, bool* full) {
  if (!lost_.ok()) return lost_;
  CommandBatch& batch = *filling_;
  if (batch.empty()) {
    batch.Begin(last_sequence_ + 1);
    if (flusher_sleeps_) flush_late_.Signal();
  }
  const size_t before = batch.bytes.size();
  batch.bytes.Message(v1::CommandBatch::kCommandsFieldNumber,
                      [&] { encode(batch.bytes); });
  const size_t bytes = batch.bytes.size() - before;
  if (bytes > options_.max_command_bytes) {
    batch.bytes.Truncate(batch.empty() ? 0 : before);
    return absl::InvalidArgumentError(absl::StrCat("the command has ", bytes,
                                                   " bytes, the limit is ",
                                                   options_.max_command_bytes));
  }
  ++batch.commands;
  *full = batch.bytes.size() >= options_.batch_bytes ||
          batch.commands >= options_.batch_commands;
  return ++last_sequence_;
}

absl::StatusOr<uint64_t> CommandQueue::Submit(Encode encode) {
  bool full = false;
  uint64_t sequence = 0;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_ASSIGN_OR_RETURN(sequence, Append(encode, &full));
  }
  if (full) Flush();
  return sequence;
}

absl::StatusOr<uint64_t> CommandQueue::Submit(Fill fill) {
  v1::Command command;
  fill(command);
  return Submit([&](WireWriter& writer) { writer.Fields(command); });
}

absl::StatusOr<uint64_t> CommandQueue::SubmitCreation(Encode encode) {
  bool full = false;
  uint64_t sequence = 0;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_ASSIGN_OR_RETURN(sequence, Append(encode, &full));
    failures_.Watch(sequence);
  }
  if (full) Flush();
  return sequence;
}

void CommandQueue::SubmitDestruction(Encode encode, uint64_t creation) {
  bool full = false;
  {
    absl::MutexLock lock(&mutex_);
    // Fails only when the session, and with it the resource, is gone.
    Append(encode, &full).IgnoreError();
    failures_.Unwatch(creation);
  }
  if (full) Flush();
}

absl::StatusOr<PendingResult> CommandQueue::SubmitForResult(Encode encode) {
  auto state = std::make_shared<PendingResult::State>();
  state->queue = this;
  bool full = false;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_ASSIGN_OR_RETURN(state->sequence, Append(encode, &full));
    pending_.emplace(state->sequence, state);
  }
  if (full) Flush();
  return PendingResult(std::move(state));
}

absl::StatusOr<PendingResult> CommandQueue::SubmitForResult(Fill fill) {
  v1::Command command;
  fill(command);
  return SubmitForResult([&](WireWriter& writer) { writer.Fields(command); });
}

absl::StatusOr<v1::Result> CommandQueue::Call(Encode encode) {
  HOLDFAST_ASSIGN_OR_RETURN(PendingResult result, SubmitForResult(encode));
  Flush();
  return result.Wait();
}

absl::StatusOr<v1::Result> CommandQueue::Call(Fill fill) {
  v1::Command command;
  fill(command);
  return Call([&](WireWriter& writer) { writer.Fields(command); });
}

uint64_t CommandQueue::Flush() {
  absl::MutexLock write_lock(&write_mutex_);
  std::unique_ptr<CommandBatch> batch = pool_->Get();
  uint64_t last = 0;
  {
    absl::MutexLock lock(&mutex_);
    last = last_sequence_;
    if (!filling_->empty()) std::swap(filling_, batch);
  }
  if (batch->empty()) {
    pool_->GiveBack(std::move(batch));
  } else {
    // If this fails the call has ended; the reader learns why.
    stream_.Write(*pool_, std::move(batch));
  }
  return last;
}

void CommandQueue::FlushLate() {
  int empty_looks = 0;
  mutex_.Lock();
  while (!stop_) {
    flusher_sleeps_ = empty_looks >= kEmptyLooks;
    if (flusher_sleeps_) {
      while (!stop_ && filling_->empty()) flush_late_.Wait(&mutex_);
      flusher_sleeps_ = false;
    }
    const bool empty = filling_->empty();
    const uint64_t first = filling_->first_sequence;
    empty_looks = empty ? empty_looks + 1 : 0;
    const absl::Time deadline = absl::Now() + options_.flush_delay;
    while (!stop_ && !flush_late_.WaitWithDeadline(&mutex_, deadline)) {
    }
    // Still the same batch: nobody else will send it.
    if (stop_ || empty || filling_->empty() ||
        filling_->first_sequence != first) {
      continue;
    }
    mutex_.Unlock();
    Flush();
    mutex_.Lock();
  }
  mutex_.Unlock();
}

ExecuteStream::Got CommandQueue::ReadBatch() {
  v1::ResultBatch batch;
  const ExecuteStream::Got got = stream_.Read(&batch);
  if (got != ExecuteStream::Got::kBatch) return got;
  for (v1::Result& result : *batch.mutable_results()) {
    Deliver(std::move(result));
  }
  return got;
}

void CommandQueue::ReadWhatHasCome() {
  if (!stream_.HasResults() || !read_mutex_.TryLock()) return;
  // Another thread may have read it meanwhile. The call's end is for the reader
  // to see.
  if (stream_.HasResults()) ReadBatch();
  read_mutex_.Unlock();
}

void CommandQueue::ReadResults() {
  for (auto got = ExecuteStream::Got::kNothing;
       got != ExecuteStream::Got::kEnd;) {
    stream_.Await();
    absl::MutexLock lock(&read_mutex_);
    got = ReadBatch();
  }
  const absl::Status status = stream_.Finish();
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
  if (result.has_output()) {
    if (options_.take_output) options_.take_output(result.output());
    return;
  }
  // Not of a command: the executor reads no more.
  if (result.sequence() == 0 && !error.ok()) return Lose(error);
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
