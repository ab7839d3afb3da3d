// SPDX-License-Identifier: Apache-2.0
#include "server/executor/session/session.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/base/wake_on_stop.h"
#include "proto/command_facts.h"
#include "proto/protocol_limits.h"
#include "server/executor/recovery/module_variables.h"
#include "server/executor/recovery/suspension.h"
#include "server/rpc/fault_status.h"
#include "server/rpc/session_token.h"

namespace holdfast::executor {
namespace {

// A batch of more commands is always handed to the session's thread, so that
// the next one is read meanwhile.
constexpr int kSmallBatch = 8;

bool IsShort(const v1::CommandBatch& batch) {
  return batch.commands_size() <= kSmallBatch &&
         absl::c_all_of(batch.commands(), [](const v1::Command& command) {
           return FactsOf(command).length == CommandLength::kShort;
         });
}

// With what the session's thread offers.
ResourceOptions WithThread(
    ResourceOptions options, const SubmissionThread& thread,
    std::function<void(std::function<void(Resources&)>)> later) {
  options.later = std::move(later);
  options.idle = [&thread] { return thread.idle(); };
  return options;
}

}  // namespace

Session::Session(Options options)
    : options_(std::move(options)),
      accepted_(options_.received_through),
      arrived_(options_.received_through),
      processed_(options_.received_through),
      thread_(std::make_shared<SubmissionThread>()),
      resources_(std::make_unique<Resources>(
          WithThread(options_.resources, *thread_,
                     [this](std::function<void(Resources&)> work) {
                       Post(std::move(work));
                     }))),
      processor_(*resources_, *options_.counts, options_.fetch_object,
                 options_.journal.get(),
                 [thread = std::weak_ptr<SubmissionThread>(thread_)] {
                   if (const auto alive = thread.lock()) alive->Wake();
                 }) {}

Session::~Session() {
  Stop();
  thread_->Join();
}

void Session::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
  }
  gate_.End(gate_.closed()
                ? SuspendedError(options_.epoch)
                : absl::UnavailableError("the session is being closed"));
  options_.resources.account->Close();
  thread_->Stop();
}

absl::Status Session::Authenticate(
    const grpc::ServerContextBase& context) const {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string token, SessionTokenOf(context));
  if (!EqualTokens(token, options_.token)) {
    return absl::NotFoundError("the token names no session");
  }
  if (options_.authenticated) options_.authenticated(context.peer());
  if (paused_) [[unlikely]] {
    return FaultedError(options_.epoch - 1);
  }
  return absl::OkStatus();
}

void Session::Pause() { paused_ = true; }
void Session::Resume() {
  paused_ = false;
  gate_.Open();
}

absl::StatusOr<UniqueFd> Session::Quiesce(bool memory_stays,
                                          absl::Time deadline) {
  const absl::Status idle =
      gate_.Close(deadline)
          ? AwaitIdle(memory_stays, deadline)
          : absl::DeadlineExceededError(
                "transfers, or batches of commands, did not end in time");
  absl::StatusOr<UniqueFd> variables =
      absl::UnavailableError("the session is being closed");
  if (idle.ok()) {
    thread_->Run([&] { variables = SaveVariables(*resources_); });
  } else {
    variables = idle;
  }
  if (!variables.ok()) gate_.Open();
  return variables;
}

absl::Status Session::AwaitIdle(bool memory_stays, absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    const auto done = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return processed_ >= arrived_ || closing_;
    };
    if (!mutex_.AwaitWithDeadline(absl::Condition(&done), deadline)) {
      return absl::DeadlineExceededError(absl::StrCat(
          arrived_ - processed_, " commands were not carried out in time"));
    }
  }
  HOLDFAST_RETURN_IF_ERROR(AwaitDevices(memory_stays, deadline));
  if (options_.output != nullptr) {
    options_.output->FlushAndAwait(deadline - absl::Now());
  }
  return absl::OkStatus();
}

absl::Status Session::AwaitDevices(bool memory_stays, absl::Time deadline) {
  // Outlives this call if the devices do not get there.
  struct Outcome {
    absl::Notification done;
    absl::Status status;
  };
  const auto outcome = std::make_shared<Outcome>();
  absl::Status status = absl::UnavailableError("the session is being closed");
  thread_->Run([&] {
    status = CheckSuspendable(*resources_, memory_stays);
    if (!status.ok()) return;
    status = WhenIdle(*resources_, [outcome](const absl::Status& idle) {
      outcome->status = idle;
      outcome->done.Notify();
    });
  });
  HOLDFAST_RETURN_IF_ERROR(status);
  if (outcome->done.WaitForNotificationWithDeadline(deadline)) {
    return outcome->status;
  }
  return absl::DeadlineExceededError(DescribeWork(*options_.resources.waits));
}

absl::Status Session::SaveMemory(const internal::SaveMemory& chunks, int file) {
  absl::Status status = absl::UnavailableError("the session is being closed");
  thread_->Run([&] { status = SaveChunks(*resources_, chunks, file); });
  return status;
}

absl::Status Session::Submit(std::shared_ptr<const v1::CommandBatch> batch,
                             size_t bytes, std::shared_ptr<ResultQueue> results,
                             std::shared_ptr<ExecutorClock> clock,
                             const EncodedCommands* encoded,
                             const std::function<bool()>& more) {
  const uint64_t first = batch->first_sequence();
  const int count = batch->commands_size();
  if (count > kMaxBatchCommands) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a batch of ", count, " commands: at most ", kMaxBatchCommands));
  }
  absl::MutexLock lock(&submit_mutex_);
  if (first <= accepted_ || first > UINT64_MAX - kMaxBatchCommands) {
    return absl::InvalidArgumentError(absl::StrCat("sequence number ", first,
                                                   " after ", accepted_,
                                                   ": numbers must increase"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      Charge taken,
      options_.resources.account->outstanding_commands()->Await(count));
  const uint64_t last = first + count - (count > 0 ? 1 : 0);
  accepted_ = last;
  arrived_ = last;
  if (options_.journal != nullptr) options_.journal->SetReceived(last);
  const bool own = more != nullptr && IsShort(*batch) && !more();
  const bool taken_on = Carry(
      [this, batch = std::move(batch), hold = ResultQueue::Hold(results),
       results, last, next = 0, clock = std::move(clock), encoded,
       charge = std::make_shared<Charge>(std::move(taken))]() mutable {
        if (clock != nullptr && next == 0) clock->Mark(kBatchBegun);
        resources_->devices.MakeCurrent();
        const bool done = processor_.Process(*batch, encoded, results, &next);
        resources_->stream_work().Watch();
        if (!done) {
          resources_->stream_work().WatchKept();
          return false;
        }
        ReportUsage();
        absl::MutexLock processed_lock(&mutex_);
        processed_ = last;
        return true;
      },
      bytes, own, more);
  if (!taken_on) return absl::UnavailableError("the session is being closed");
  return absl::OkStatus();
}

bool Session::Carry(std::function<bool()> commands, size_t bytes, bool own,
                    const std::function<bool()>& more) {
  return own ? thread_->RunBatch(std::move(commands), bytes, more)
             : thread_->PostBatch(std::move(commands), bytes);
}

absl::Status Session::AwaitSequence(uint64_t sequence,
                                    const std::stop_token& cancelled) {
  const WakeOnStop wake(cancelled, mutex_);
  absl::MutexLock lock(&mutex_);
  const auto done = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return processed_ >= sequence || closing_ || cancelled.stop_requested();
  };
  mutex_.Await(absl::Condition(&done));
  if (processed_ >= sequence) return absl::OkStatus();
  if (closing_) return absl::UnavailableError("the session is being closed");
  return absl::CancelledError("given up");
}

void Session::RunPosted(const std::function<void(Resources&)>& work) {
  resources_->devices.MakeCurrent();
  work(*resources_);
  resources_->stream_work().Watch();
  ReportUsage();
}

bool Session::Post(std::function<void(Resources&)> work) {
  return thread_->Post([this, work = std::move(work)] { RunPosted(work); });
}

bool Session::RunOrPost(std::function<void(Resources&)> work) {
  return thread_->RunOrPost(
      [this, work = std::move(work)] { RunPosted(work); });
}

bool Session::Run(const std::function<void(Resources&)>& work) {
  return thread_->Run([&] { work(*resources_); });
}

void Session::ReportUsage() {
  const uint64_t bytes = options_.resources.account->device_memory()->used();
  if (bytes == reported_bytes_) return;
  reported_bytes_ = bytes;
  if (options_.usage_changed) options_.usage_changed();
}

bool Session::TakeExecute(std::shared_ptr<ResultQueue> results) {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(executing_, true)) return false;
  if (options_.output != nullptr) options_.output->SendTo(std::move(results));
  return true;
}

void Session::TakeOutput(v1::ResultBatch* results) {
  if (options_.output == nullptr) return;
  auto output = options_.output->Take();
  if (!output.has_value()) return;
  results->add_results()->mutable_output()->Swap(&*output);
}

void Session::ReturnExecute() {
  absl::MutexLock lock(&mutex_);
  if (options_.output != nullptr) options_.output->SendTo(nullptr);
  executing_ = false;
}

}  // namespace holdfast::executor
