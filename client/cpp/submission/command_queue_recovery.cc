// SPDX-License-Identifier: Apache-2.0
//
// How a queue goes on when its Execute stream has ended. The reading thread
// notices, has Options.recover find out why, and changes to another stream.
//
// If the session was suspended, everything that arrived was carried out, and
// nothing is dropped. Batches that did not arrive are sent again in order, as
// they are, with their numbers: first the batches of Recovery.unsent, then the
// batches that nobody took from the rings, then the batches that found the
// stream ended (unsent_). Callers only notice a delay. Without rings a batch
// that was written may be lost on its way; then the queue goes on as after a
// fault.
//
// After a fault everything that was submitted and not carried out is dropped,
// since it may build on what the fault has destroyed. Callers that wait for a
// result fail with the fault; if none of them takes it, the next call that
// submits or waits does. So somebody is told, once (QueueState), and nothing
// that is submitted until then runs. Only commands that end something are sent
// again, with new numbers (ends_): a resource that its owner has let go would
// stay otherwise.
//
// The reading thread may have to wait before it changes streams. After a fault
// that Options.ask returns, it waits for Consent, and every call fails with the
// fault meanwhile. In a suspended session, it waits for a command to send.
//
// A command belongs to one stream: the change is made with write_mutex_ and
// mutex_ held, in one step with all that Append and Flush look at. Hence this
// is the other half of CommandQueue, and no class of its own.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/connection/forked_process.h"
#include "client/cpp/submission/command_queue.h"
#include "client/cpp/submission/quiet_thread.h"
#include "core/base/fault_epoch.h"
#include "core/base/status_macros.h"

namespace holdfast {

bool CommandQueue::Recover(const absl::Status& ended) {
  {
    absl::MutexLock lock(&mutex_);
    if (!state_.lost().ok()) return false;
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
    state_.Suspend(/*wanted=*/!stream_.load()->Unread().empty());
  }
  absl::MutexLock lock(&mutex_);
  const auto work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !state_.lost().ok() || state_.wanted() || !filling_.empty() ||
           !unsent_.empty() || !pending_.empty();
  };
  mutex_.Await(absl::Condition(&work));
  return state_.lost().ok();
}

void CommandQueue::AwaitServing() {
  if (IsForked()) return;
  absl::MutexLock lock(&mutex_);
  if (!state_.suspended()) [[likely]]
    return;
  state_.Want();
  const auto serving = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !state_.suspended() || !state_.lost().ok();
  };
  mutex_.Await(absl::Condition(&serving));
}

bool CommandQueue::AwaitConsent(const absl::Status& fault) {
  decltype(pending_) pending;
  {
    absl::MutexLock lock(&mutex_);
    state_.Ask(fault);
    pending.swap(pending_);
  }
  for (auto& [sequence, state] : pending) {
    state->result = fault;
    state->done.Notify();
  }
  absl::MutexLock lock(&mutex_);
  const auto over = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return state_.consented() || !state_.lost().ok();
  };
  mutex_.Await(absl::Condition(&over));
  return state_.lost().ok();
}

absl::Status CommandQueue::Consent() {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  absl::MutexLock lock(&mutex_);
  HOLDFAST_RETURN_IF_ERROR(state_.Consent());
  const auto over = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !state_.asking() || !state_.lost().ok();
  };
  mutex_.Await(absl::Condition(&over));
  return state_.lost();
}

// gRPC cannot tell which of the batches that it took have arrived.
bool CommandQueue::IsWhole(const Recovery& recovery) {
  absl::MutexLock lock(&mutex_);
  return stream_.load()->has_rings() ||
         written_through_ <= recovery.submitted_through;
}

void CommandQueue::ResumeSuspended(Recovery recovery) {
  const auto stream = std::make_shared<ExecuteStream>(
      std::move(recovery.channel), std::move(recovery.stream));
  std::vector<std::shared_ptr<PendingResult::State>> dropped;
  bool lost = false;
  {
    absl::MutexLock write_lock(&write_mutex_);
    std::vector<std::string> batches = std::move(recovery.unsent);
    for (std::string& batch : stream_.load()->Unread()) {
      batches.push_back(std::move(batch));
    }
    absl::MutexLock lock(&mutex_);
    for (std::string& batch : unsent_) batches.push_back(std::move(batch));
    // The late flusher sends them, since results have to be read meanwhile.
    unsent_ = std::move(batches);
    // The connection broke before the results of these came.
    for (auto it = pending_.begin(); it != pending_.end();) {
      if (it->first > recovery.submitted_through) {
        ++it;
        continue;
      }
      dropped.push_back(std::move(it->second));
      pending_.erase(it++);
    }
    stream_ = stream;
    state_.ResumeSuspended();
    lost = !state_.lost().ok();
  }
  late_flusher_.Wake();
  for (const auto& state : dropped) {
    state->result = recovery.fault;
    state->done.Notify();
  }
  // The reader sees the end of a stream that was cancelled.
  if (lost) stream->Cancel();
}

bool CommandQueue::SendUnsent(ExecuteStream& stream) {
  std::vector<std::string> batches;
  {
    absl::MutexLock lock(&mutex_);
    batches.swap(unsent_);
  }
  auto next = batches.begin();
  while (next != batches.end() && stream.Write(*next)) ++next;
  if (next == batches.end()) return true;
  absl::MutexLock lock(&mutex_);
  if (state_.lost().ok()) unsent_.assign(next, batches.end());
  return false;
}

void CommandQueue::Resume(Recovery recovery) {
  const auto stream = std::make_shared<ExecuteStream>(
      std::move(recovery.channel), std::move(recovery.stream));
  decltype(pending_) pending;
  bool lost = false;
  {
    absl::MutexLock write_lock(&write_mutex_);
    absl::MutexLock lock(&mutex_);
    stream_ = stream;
    lost = !state_.lost().ok();
    state_.Resume(recovery.fault);
    unsent_.clear();
    pending.swap(pending_);
    failures_.DropAfter(recovery.submitted_through, recovery.fault);
    filling_.Clear();
    SendEndsAgain(recovery.submitted_through, *stream);
    // Transfers wait for the last number that was given out, which no command
    // that was dropped will reach.
    bool full = false;
    AppendFence(&full);
  }
  for (auto& [sequence, state] : pending) {
    state->result = recovery.fault;
    state->done.Notify();
  }
  // The reader sees the end of a stream that was cancelled.
  if (lost) stream->Cancel();
  Flush();
}

void CommandQueue::SendEndsAgain(uint64_t begun, ExecuteStream& stream) {
  for (const End& end : std::exchange(ends_, {})) {
    // The one that was begun last may not have been carried out; to end twice
    // is no error.
    if (end.sequence < begun) continue;
    bool full = false;
    RepeatEnd(end.bytes, &full);
    if (!full) continue;
    stream.Write(*pool_, filling_.Take());
  }
}

void CommandQueue::SetFault(const absl::Status& fault) {
  absl::MutexLock lock(&mutex_);
  state_.SetFault(fault);
}

void CommandQueue::NoteTold(const absl::Status& status) {
  if (status.ok()) [[likely]]
    return;
  if (IsQuietThread()) return;
  absl::MutexLock lock(&mutex_);
  state_.NoteTold(status);
  failures_.NoteTold(status);
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
  return state_.faults() > faults ? state_.fault() : status;
}

uint64_t CommandQueue::faults() const {
  if (IsForked()) return 0;
  absl::MutexLock lock(&mutex_);
  return state_.faults();
}

uint64_t CommandQueue::suspensions() const {
  if (IsForked()) return 0;
  absl::MutexLock lock(&mutex_);
  return state_.suspensions();
}

}  // namespace holdfast
