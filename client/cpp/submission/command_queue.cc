// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/command_queue.h"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/connection/forked_process.h"
#include "client/cpp/connection/rpc_status.h"
#include "client/cpp/submission/quiet_thread.h"
#include "client/cpp/submission/wait_hook.h"
#include "core/base/fault_epoch.h"
#include "core/base/start_thread.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

enum Step { kBatchReady, kResultRead };
constexpr std::array<const char*, 2> kSteps = {"client: batch ready",
                                               "client: result read"};

}  // namespace

void PendingResult::Await() const {
  queue_->LookFor(slot_->done);
  slot_->done.WaitForNotification();
  queue_->NoteTold(slot_->result.status());
}

absl::StatusOr<v1::Result> PendingResult::Wait() const& {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  Await();
  return slot_->result;
}

absl::StatusOr<v1::Result> PendingResult::Wait() && {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  Await();
  if (slot_.use_count() == 1) return std::move(slot_->result);
  return slot_->result;
}

absl::StatusOr<std::unique_ptr<CommandQueue>> CommandQueue::Create(
    std::shared_ptr<grpc::ChannelInterface> channel,
    ExecuteStream::Options stream, Options options) {
  HOLDFAST_ASSIGN_OR_RETURN(
      auto opened, ExecuteStream::Open(std::move(channel), std::move(stream)));
  std::unique_ptr<CommandQueue> queue(
      new CommandQueue(std::move(opened), std::move(options)));
  HOLDFAST_RETURN_IF_ERROR(queue->StartThreads());
  return queue;
}

CommandQueue::CommandQueue(std::shared_ptr<ExecuteStream> stream,
                           Options options)
    : options_(std::move(options)),
      pool_(std::make_shared<CommandBatchPool>(options_.batch_bytes)),
      clock_(kSteps),
      stream_(std::move(stream)),
      commands_(pool_,
                {options_.batch_commands, options_.batch_bytes,
                 options_.max_command_bytes},
                options_.received_through) {}

absl::Status CommandQueue::StartThreads() {
  HOLDFAST_ASSIGN_OR_RETURN(
      late_flusher_,
      LateFlusher::Start({.delay = options_.flush_delay,
                          .waiting = [this] { return Unflushed(); },
                          .flush = [this] { Flush(); }}));
  HOLDFAST_ASSIGN_OR_RETURN(reader_, StartThread("the results of a session",
                                                 [this] { ReadResults(); }));
  return absl::OkStatus();
}

CommandQueue::~CommandQueue() { Close(); }

void CommandQueue::Close() {
  Fail(absl::CancelledError("the session was closed"));
  stream_.load()->Cancel();
  if (late_flusher_ != nullptr) late_flusher_->Stop();
  if (reader_.joinable()) reader_.join();
}

template <typename Add>
absl::StatusOr<uint64_t> CommandQueue::Enqueue(const Add& add) {
  Added added;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_ASSIGN_OR_RETURN(added, add(commands_));
    if (added.begins) late_flusher_->Wake();
  }
  if (added.full) Flush();
  return added.sequence;
}

absl::StatusOr<uint64_t> CommandQueue::Submit(Encode encode) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  HOLDFAST_ASSIGN_OR_RETURN(
      const uint64_t sequence,
      Enqueue([&](SubmittedCommands& to) { return to.Add(encode); }));
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
  return Enqueue([&](SubmittedCommands& to) { return to.AddCreation(encode); });
}

void CommandQueue::SubmitDestruction(Encode encode, uint64_t creation,
                                     bool send) {
  if (IsForked()) return;
  Enqueue([&](SubmittedCommands& to) -> absl::StatusOr<Added> {
    Added added = to.AddEnd(encode);
    added.full |= send;
    to.Forget(creation);
    return added;
  }).IgnoreError();
}

absl::StatusOr<PendingResult> CommandQueue::SubmitForResult(Encode encode) {
  return SubmitAwaited(encode, std::make_shared<ResultSlot>());
}

absl::StatusOr<PendingResult> CommandQueue::SubmitUntilDone(Encode encode) {
  auto slot = std::make_shared<ResultSlot>();
  slot->told_by_take_failure = true;
  return SubmitAwaited(encode, std::move(slot));
}

absl::StatusOr<PendingResult> CommandQueue::SubmitAwaited(
    Encode encode, std::shared_ptr<ResultSlot> slot) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  HOLDFAST_RETURN_IF_ERROR(Enqueue([&](SubmittedCommands& to) {
                             return to.AddAwaited(encode, slot);
                           }).status());
  return PendingResult(this, std::move(slot));
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
  ResultSlot& slot = *result.slot_;
  LookFor(slot.done);
  if (!AwaitWithHook(slot.done)) {
    return absl::CancelledError(absl::StrCat(
        "the wait for command ", slot.sequence, " was interrupted"));
  }
  NoteTold(slot.result.status());
  return std::move(slot.result);  // No copy of it is held elsewhere.
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
  HOLDFAST_ASSIGN_OR_RETURN(
      const uint64_t sequence, Enqueue([&](SubmittedCommands& to) {
        return to.AddAlone([&](WireWriter& writer) { writer.Fields(command); });
      }));
  const absl::Status reached =
      Call([](v1::Command& fence) { fence.mutable_fence(); }).status();
  absl::MutexLock lock(&mutex_);
  const absl::Status failure = commands_.TakeAlone(sequence);
  return reached.ok() ? failure : reached;
}

uint64_t CommandQueue::Flush() {
  if (IsForked()) return 0;
  absl::MutexLock write_lock(&write_mutex_);
  SubmittedCommands::Outgoing outgoing;
  {
    absl::MutexLock lock(&mutex_);
    outgoing = commands_.TakeOutgoing();
  }
  const std::shared_ptr<ExecuteStream> stream = stream_.load();
  if (options_.take_times) [[unlikely]]
    clock_.Mark(kBatchReady);
  const bool ready =
      !outgoing.suspended && (!outgoing.unsent || SendUnsent(*stream));
  if (outgoing.batch == nullptr) return outgoing.last_sequence;
  if (ready && !stream->has_rings()) {
    // If this fails the call has ended; the reader learns why.
    stream->Write(*pool_, std::move(outgoing.batch));
  } else {
    WriteOrKeep(ready, *stream, std::move(outgoing.batch));
  }
  return outgoing.last_sequence;
}

void CommandQueue::WriteOrKeep(bool ready, ExecuteStream& stream,
                               std::unique_ptr<CommandBatch> batch) {
  if (!ready || !stream.Write(batch->view())) {
    absl::MutexLock lock(&mutex_);
    commands_.KeepUnsent(batch->view());
  }
  pool_->GiveBack(std::move(batch));
}

bool CommandQueue::SendUnsent(ExecuteStream& stream) {
  std::vector<std::string> batches;
  {
    absl::MutexLock lock(&mutex_);
    batches = commands_.TakeUnsent();
  }
  auto next = batches.begin();
  while (next != batches.end() && stream.Write(*next)) ++next;
  if (next == batches.end()) return true;
  batches.erase(batches.begin(), next);
  absl::MutexLock lock(&mutex_);
  commands_.GiveBackUnsent(std::move(batches));
  return false;
}

uint64_t CommandQueue::Unflushed() {
  absl::MutexLock lock(&mutex_);
  return commands_.Unflushed();
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
  std::shared_ptr<ResultSlot> slot;
  {
    absl::MutexLock lock(&mutex_);
    slot = commands_.NoteResult(result, error);
  }
  if (slot == nullptr) return;
  if (error.ok()) {
    slot->Set(std::move(result));
  } else {
    slot->Set(error);
  }
}

absl::Status CommandQueue::TakeFailure() {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  absl::MutexLock lock(&mutex_);
  return commands_.TakeFailure();
}

absl::Status CommandQueue::FailureOf(uint64_t sequence) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  absl::MutexLock lock(&mutex_);
  return commands_.FailureOf(sequence);
}

void CommandQueue::Forget(uint64_t sequence) {
  if (IsForked()) return;
  absl::MutexLock lock(&mutex_);
  commands_.Forget(sequence);
}

void CommandQueue::NoteTold(const absl::Status& status) {
  if (status.ok()) [[likely]]
    return;
  if (IsQuietThread()) return;
  absl::MutexLock lock(&mutex_);
  commands_.NoteTold(status);
}

void CommandQueue::Fail(const absl::Status& reason) {
  ResultSlots slots;
  {
    absl::MutexLock lock(&mutex_);
    slots = commands_.Lose(reason);
  }
  SetAll(slots, reason);
}

void CommandQueue::SetFault(const absl::Status& fault) {
  absl::MutexLock lock(&mutex_);
  commands_.state().SetFault(fault);
}

absl::Status CommandQueue::Explain(const absl::Status& status,
                                   uint64_t faults) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  if (!absl::IsUnavailable(status) && FaultEpochOf(status) == 0) {
    NoteTold(status);
    return status;
  }
  // Its outcome is that of the session.
  HOLDFAST_RETURN_IF_ERROR(
      Call([](v1::Command& command) { command.mutable_fence(); }).status());
  absl::MutexLock lock(&mutex_);
  const QueueState& state = commands_.state();
  return state.faults() > faults ? state.fault() : status;
}

uint64_t CommandQueue::faults() const {
  if (IsForked()) return 0;
  absl::MutexLock lock(&mutex_);
  return commands_.state().faults();
}

uint64_t CommandQueue::suspensions() const {
  if (IsForked()) return 0;
  absl::MutexLock lock(&mutex_);
  return commands_.state().suspensions();
}

bool CommandQueue::Recover(const absl::Status& ended) {
  {
    absl::MutexLock lock(&mutex_);
    if (!commands_.state().lost().ok()) return false;
  }
  if (!options_.recover) {
    Fail(absl::UnavailableError(ended.message()));
    return false;
  }
  const absl::Status asked =
      options_.ask ? options_.ask(ended) : absl::OkStatus();
  if (!asked.ok() && !AwaitConsent(asked)) return false;
  absl::StatusOr<Recovery> recovery =
      options_.recover(ended, [this] { return AwaitWork(); });
  if (!recovery.ok()) {
    Fail(recovery.status());
    return false;
  }
  if (recovery->suspended && IsWhole(*recovery)) {
    ResumeSuspended(*std::move(recovery));
  } else {
    Resume(*std::move(recovery));
  }
  return true;
}

bool CommandQueue::AwaitWork() {
  {
    // From here on every batch finds the stream ended.
    absl::MutexLock write_lock(&write_mutex_);
    absl::MutexLock lock(&mutex_);
    commands_.state().Suspend(/*wanted=*/!stream_.load()->Unread().empty());
  }
  absl::MutexLock lock(&mutex_);
  const auto work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !commands_.state().lost().ok() || commands_.NeedsSession();
  };
  mutex_.Await(absl::Condition(&work));
  return commands_.state().lost().ok();
}

void CommandQueue::AwaitServing() {
  if (IsForked()) return;
  absl::MutexLock lock(&mutex_);
  QueueState& state = commands_.state();
  if (!state.suspended()) [[likely]]
    return;
  state.Want();
  const auto serving = [&state] {
    return !state.suspended() || !state.lost().ok();
  };
  mutex_.Await(absl::Condition(&serving));
}

bool CommandQueue::AwaitConsent(const absl::Status& fault) {
  ResultSlots slots;
  {
    absl::MutexLock lock(&mutex_);
    slots = commands_.Ask(fault);
  }
  SetAll(slots, fault);
  absl::MutexLock lock(&mutex_);
  const QueueState& state = commands_.state();
  const auto over = [&state] {
    return state.consented() || !state.lost().ok();
  };
  mutex_.Await(absl::Condition(&over));
  return state.lost().ok();
}

absl::Status CommandQueue::Consent() {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  absl::MutexLock lock(&mutex_);
  QueueState& state = commands_.state();
  HOLDFAST_RETURN_IF_ERROR(state.Consent());
  const auto over = [&state] { return !state.asking() || !state.lost().ok(); };
  mutex_.Await(absl::Condition(&over));
  return state.lost();
}

// gRPC cannot tell which of the batches that it took have arrived: without
// rings the queue goes on as after a fault.
bool CommandQueue::IsWhole(const Recovery& recovery) {
  absl::MutexLock lock(&mutex_);
  return stream_.load()->has_rings() ||
         commands_.written_through() <= recovery.submitted_through;
}

void CommandQueue::ResumeSuspended(Recovery recovery) {
  const std::shared_ptr<ExecuteStream> stream = std::move(recovery.stream);
  ResultSlots slots;
  bool lost = false;
  {
    absl::MutexLock write_lock(&write_mutex_);
    std::vector<std::string> unsent = std::move(recovery.unsent);
    for (std::string& batch : stream_.load()->Unread()) {
      unsent.push_back(std::move(batch));
    }
    absl::MutexLock lock(&mutex_);
    slots = commands_.ResumeSuspended(recovery.submitted_through,
                                      std::move(unsent));
    stream_ = stream;
    lost = !commands_.state().lost().ok();
  }
  // It sends the batches, since results have to be read meanwhile.
  late_flusher_->Wake();
  SetAll(slots, recovery.fault);
  // The reader sees the end of a stream that was cancelled.
  if (lost) stream->Cancel();
}

void CommandQueue::Resume(Recovery recovery) {
  const std::shared_ptr<ExecuteStream> stream = std::move(recovery.stream);
  ResultSlots slots;
  bool lost = false;
  {
    absl::MutexLock write_lock(&write_mutex_);
    absl::MutexLock lock(&mutex_);
    stream_ = stream;
    lost = !commands_.state().lost().ok();
    slots = commands_.Resume(recovery.fault, recovery.submitted_through,
                             [&](std::unique_ptr<CommandBatch> batch) {
                               stream->Write(*pool_, std::move(batch));
                             });
  }
  SetAll(slots, recovery.fault);
  // The reader sees the end of a stream that was cancelled.
  if (lost) stream->Cancel();
  Flush();
}

}  // namespace holdfast
