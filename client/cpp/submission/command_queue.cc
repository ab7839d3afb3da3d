// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/command_queue.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/connection/forked_process.h"
#include "client/cpp/connection/rpc_status.h"
#include "client/cpp/submission/quiet_thread.h"
#include "client/cpp/submission/wait_hook.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

enum Step { kBatchReady, kResultRead };
constexpr std::array<const char*, 2> kSteps = {"client: batch ready",
                                               "client: result read"};

// Ends that are remembered without a result that tells that they are over;
// then one is asked for.
constexpr size_t kMaxEnds = 4096;

}  // namespace

void PendingResult::Await() const {
  state_->queue->LookFor(state_->done);
  state_->done.WaitForNotification();
  state_->queue->NoteTold(state_->result.status());
}

absl::StatusOr<v1::Result> PendingResult::Wait() const& {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  Await();
  return state_->result;
}

absl::StatusOr<v1::Result> PendingResult::Wait() && {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  Await();
  if (state_.use_count() == 1) return std::move(state_->result);
  return state_->result;
}

CommandQueue::CommandQueue(std::shared_ptr<grpc::ChannelInterface> channel,
                           ExecuteStream::Options stream, Options options)
    : options_(std::move(options)),
      pool_(std::make_shared<CommandBatchPool>(options_.batch_bytes)),
      clock_(kSteps),
      stream_(std::make_shared<ExecuteStream>(std::move(channel),
                                              std::move(stream))),
      filling_(pool_,
               {options_.batch_commands, options_.batch_bytes,
                options_.max_command_bytes},
               options_.received_through),
      late_flusher_({.delay = options_.flush_delay,
                     .waiting = [this] { return Unflushed(); },
                     .flush = [this] { Flush(); }}),
      reader_([this] { ReadResults(); }) {}

CommandQueue::~CommandQueue() { Close(); }

void CommandQueue::Close() {
  Fail(absl::CancelledError("the session was closed"));
  stream_.load()->Cancel();
  late_flusher_.Stop();
  if (reader_.joinable()) reader_.join();
}

template <typename Write>
absl::StatusOr<uint64_t> CommandQueue::AppendFrame(const Write& write,
                                                   bool* full) {
  const bool is_first = filling_.empty();
  auto sequence = filling_.Append(write, full);
  if (is_first) late_flusher_.Wake();
  return sequence;
}

absl::StatusOr<uint64_t> CommandQueue::Append(Encode encode, bool* full) {
  HOLDFAST_RETURN_IF_ERROR(state_.CheckSubmission());
  return AppendFrame(
      [encode](WireWriter& writer) {
        writer.Message(v1::fields::CommandBatch::kCommands,
                       [&] { encode(writer); });
      },
      full);
}

template <typename Write>
void CommandQueue::AppendEnd(const Write& write, bool* full) {
  if (!state_.lost().ok()) return;  // With the session, all is at its end.
  End end;
  const auto sequence = AppendFrame(
      [&](WireWriter& writer) {
        const size_t before = writer.size();
        write(writer);
        end.bytes.assign(writer.data() + before, writer.size() - before);
      },
      full);
  if (!sequence.ok()) return;
  end.sequence = *sequence;
  ends_.push_back(std::move(end));
  if (ends_.size() % kMaxEnds == 0) AppendFence(full);
}

void CommandQueue::RepeatEnd(absl::string_view bytes, bool* full) {
  AppendEnd([bytes](WireWriter& writer) { writer.Append(bytes); }, full);
}

void CommandQueue::AppendFence(bool* full) {
  v1::CommandBatch batch;
  batch.add_commands()->mutable_fence();
  AppendFrame([&](WireWriter& writer) { writer.Fields(batch); }, full)
      .IgnoreError();
}

absl::StatusOr<uint64_t> CommandQueue::Submit(Encode encode) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  bool full = false;
  uint64_t sequence = 0;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_ASSIGN_OR_RETURN(sequence, Append(encode, &full));
  }
  if (full) Flush();
  if (options_.blocking) HOLDFAST_RETURN_IF_ERROR(Settle());
  return sequence;
}

absl::Status CommandQueue::Settle() {
  if (!options_.blocking) return absl::OkStatus();
  HOLDFAST_RETURN_IF_ERROR(Call([](v1::Command& fence) {
                             fence.mutable_fence()->set_all_streams(true);
                           }).status());
  return TakeFailure();
}

absl::StatusOr<uint64_t> CommandQueue::Submit(Fill fill) {
  v1::Command command;
  fill(command);
  return Submit([&](WireWriter& writer) { writer.Fields(command); });
}

absl::StatusOr<uint64_t> CommandQueue::SubmitCreation(Encode encode) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
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

void CommandQueue::SubmitDestruction(Encode encode, uint64_t creation,
                                     bool send) {
  if (IsForked()) return;
  bool full = false;
  {
    absl::MutexLock lock(&mutex_);
    AppendEnd(
        [encode](WireWriter& writer) {
          writer.Message(v1::fields::CommandBatch::kCommands,
                         [&] { encode(writer); });
        },
        &full);
    failures_.Unwatch(creation);
  }
  if (full || send) Flush();
}

absl::StatusOr<PendingResult> CommandQueue::SubmitForResult(Encode encode) {
  return SubmitPending(encode, std::make_shared<PendingResult::State>());
}

absl::StatusOr<PendingResult> CommandQueue::SubmitUntilDone(Encode encode) {
  auto state = std::make_shared<PendingResult::State>();
  state->told_by_take_failure = true;
  return SubmitPending(encode, std::move(state));
}

absl::StatusOr<PendingResult> CommandQueue::SubmitPending(
    Encode encode, std::shared_ptr<PendingResult::State> state) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
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
  return Await(result);
}

absl::StatusOr<v1::Result> CommandQueue::Await(PendingResult& result) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  LookFor(result.state_->done);
  if (!AwaitWithHook(result.state_->done)) {
    return absl::CancelledError(absl::StrCat(
        "the wait for command ", result.sequence(), " was interrupted"));
  }
  NoteTold(result.state_->result.status());
  return std::move(result.state_->result);  // No copy of it is held elsewhere.
}

absl::StatusOr<v1::Result> CommandQueue::Call(Fill fill) {
  v1::Command command;
  fill(command);
  return Call([&](WireWriter& writer) { writer.Fields(command); });
}

absl::Status CommandQueue::CallWithoutResult(Fill fill) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  v1::Command command;
  fill(command);
  uint64_t sequence = 0;
  {
    bool full = false;  // The call below flushes.
    absl::MutexLock lock(&mutex_);
    HOLDFAST_ASSIGN_OR_RETURN(
        sequence,
        Append([&](WireWriter& writer) { writer.Fields(command); }, &full));
    failures_.WatchAlone(sequence);
  }
  const absl::Status reached =
      Call([](v1::Command& fence) { fence.mutable_fence(); }).status();
  absl::MutexLock lock(&mutex_);
  const absl::Status failure = failures_.Of(sequence);
  failures_.Unwatch(sequence);
  failures_.NoteTold(failure);
  return reached.ok() ? failure : reached;
}

uint64_t CommandQueue::Flush() {
  if (IsForked()) return 0;
  absl::MutexLock write_lock(&write_mutex_);
  std::unique_ptr<CommandBatch> batch;
  uint64_t last = 0;
  bool suspended = false;
  bool unsent = false;
  {
    absl::MutexLock lock(&mutex_);
    last = filling_.last_sequence();
    suspended = state_.suspended();
    unsent = !unsent_.empty();
    if (!filling_.empty()) {
      batch = filling_.Take();
      if (!suspended) written_through_ = last;
    }
  }
  const std::shared_ptr<ExecuteStream> stream = stream_.load();
  if (options_.take_times) [[unlikely]]
    clock_.Mark(kBatchReady);
  const bool ready = !suspended && (!unsent || SendUnsent(*stream));
  if (batch == nullptr) return last;
  if (ready && !stream->has_rings()) {
    // If this fails the call has ended; the reader learns why.
    stream->Write(*pool_, std::move(batch));
  } else {
    WriteOrKeep(ready, *stream, std::move(batch));
  }
  return last;
}

void CommandQueue::WriteOrKeep(bool ready, ExecuteStream& stream,
                               std::unique_ptr<CommandBatch> batch) {
  if (!ready || !stream.Write(batch->view())) {
    absl::MutexLock lock(&mutex_);
    if (state_.lost().ok()) unsent_.emplace_back(batch->view());
  }
  pool_->GiveBack(std::move(batch));
}

uint64_t CommandQueue::Unflushed() {
  absl::MutexLock lock(&mutex_);
  if (!unsent_.empty() && !state_.suspended()) return UINT64_MAX;
  return filling_.empty() ? 0 : filling_.first_sequence();
}

ExecuteStream::ReadResult CommandQueue::ReadBatch() {
  pollers_.NoteRead();
  const ExecuteStream::ReadResult got = stream_.load()->Read(&results_);
  if (got != ExecuteStream::ReadResult::kBatch) return got;
  if (options_.take_times) [[unlikely]]
    TakeOwnTimes();
  for (v1::Result& result : *results_.mutable_results()) {
    Deliver(std::move(result));
  }
  return got;
}

void CommandQueue::TakeOwnTimes() {
  clock_.Mark(kResultRead);
  v1::StepTimes times;
  clock_.AddTo(&times);
  options_.take_times(times);
}

void CommandQueue::PollResults() {
  const auto has_results = [this] { return stream_.load()->HasResults(); };
  if (!has_results() || !read_mutex_.TryLock()) return;
  // Another thread may have read it meanwhile. The call's end is for the reader
  // to see.
  if (has_results()) ReadBatch();
  read_mutex_.Unlock();
}

void CommandQueue::LookFor(const absl::Notification& done) {
  pollers_.Poll([&] {
    PollResults();
    return done.HasBeenNotified();
  });
}

absl::Status CommandQueue::ReadToEnd() {
  using Got = ExecuteStream::ReadResult;
  const std::shared_ptr<ExecuteStream> stream = stream_.load();
  uint32_t seen = pollers_.polls();
  for (Got got = Got::kWouldBlock; got != Got::kEnd;) {
    // Once all is quiet, another sleep costs nothing.
    if (got == Got::kBatch || pollers_.polls() != seen) {
      pollers_.AwaitPollers(*stream);
    }
    seen = pollers_.polls();
    stream->Sleep();
    absl::MutexLock lock(&read_mutex_);
    got = ReadBatch();
  }
  return stream->Finish();
}

void CommandQueue::ReadResults() {
  while (Recover(ReadToEnd())) {
  }
}

void CommandQueue::NoteEarlierFailure(const v1::FenceResult& fence) {
  if (fence.failures() == 0) [[likely]]
    return;
  const uint64_t first = fence.first_failed_sequence();
  if (first > options_.received_through) return;
  failures_.Add(first, ToStatus(fence.first_error()));
}

void CommandQueue::Deliver(v1::Result result) {
  const absl::Status error =
      result.has_error() ? ToStatus(result.error()) : absl::OkStatus();
  if (result.has_output()) {
    if (options_.take_output) options_.take_output(result.output());
    return;
  }
  if (result.has_times()) [[unlikely]] {
    if (options_.take_times) options_.take_times(result.times());
    return;
  }
  // Not of a command: the executor reads no more.
  if (result.sequence() == 0 && !error.ok()) return Fail(error);
  std::shared_ptr<PendingResult::State> waiter;
  {
    absl::MutexLock lock(&mutex_);
    if (result.has_fence()) NoteEarlierFailure(result.fence());
    // Commands before one with a result were carried out.
    while (!ends_.empty() && ends_.front().sequence < result.sequence()) {
      ends_.pop_front();
    }
    if (auto found = pending_.find(result.sequence());
        found != pending_.end()) {
      waiter = std::move(found->second);
      pending_.erase(found);
    }
    if (!error.ok() && (waiter == nullptr || waiter->told_by_take_failure)) {
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
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  absl::MutexLock lock(&mutex_);
  if (state_.fault_untold()) return state_.TellFault();
  absl::Status failure;
  if (!IsQuietThread()) failure = failures_.Take();
  return failure.ok() ? state_.lost() : failure;
}

absl::Status CommandQueue::FailureOf(uint64_t sequence) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  absl::MutexLock lock(&mutex_);
  const absl::Status failure = failures_.Of(sequence);
  if (failure.ok()) return state_.lost();
  failures_.NoteTold(failure);
  return failure;
}

void CommandQueue::Forget(uint64_t sequence) {
  if (IsForked()) return;
  absl::MutexLock lock(&mutex_);
  failures_.Unwatch(sequence);
}

void CommandQueue::Fail(const absl::Status& reason) {
  decltype(pending_) pending;
  {
    absl::MutexLock lock(&mutex_);
    if (!state_.Lose(reason)) return;
    unsent_.clear();
    pending.swap(pending_);
  }
  for (auto& [sequence, state] : pending) {
    state->result = reason;
    state->done.Notify();
  }
}

}  // namespace holdfast
