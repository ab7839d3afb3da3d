// SPDX-License-Identifier: Apache-2.0
#include "server/executor/service/command_service.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "core/base/status_macros.h"
#include "server/executor/service/batch_pool.h"
#include "server/rpc/metadata.h"
#include "server/rpc/unary_call.h"

namespace holdfast::executor {
namespace {

// A client is told that its commands have arrived after so many bytes or
// batches of them: it keeps them until then.
constexpr size_t kAcknowledgedBytes = size_t{256} << 10;
constexpr int kAcknowledgedBatches = 16;

// How many results the client has read before; nullopt: it does not come back
// when its connection breaks.
absl::StatusOr<std::optional<uint64_t>> ResultsRead(
    const grpc::ServerContextBase& context) {
  const auto text = FindMetadata(context, kResultsReadKey);
  if (!text.has_value()) return std::nullopt;
  uint64_t count = 0;
  if (text->size() <= kResultsReadKey.max_bytes &&
      absl::SimpleAtoi(*text, &count)) {
    return count;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(kResultsReadKey.name, " is no number of results"));
}

// Null: the client does not measure.
std::shared_ptr<ExecutorClock> ClockFor(
    const grpc::ServerContextBase& context) {
  if (!FindMetadata(context, kStepTimesKey).has_value()) return nullptr;
  return std::make_shared<ExecutorClock>(kExecutorSteps);
}

// Sends results without delay, with their times if there is a clock.
ResultQueue::SendNow Sender(CommandStream& commands,
                            std::shared_ptr<ExecutorClock> clock) {
  return [&commands, clock = std::move(clock)](const v1::ResultBatch& batch) {
    if (clock == nullptr) [[likely]]
      return commands.WriteNow(batch);
    clock->Mark(kResultFound);
    return commands.WriteNow(WithTimes(batch, *clock));
  };
}

}  // namespace

CommandService::CommandService(Session& session, FdReceiver& inbox,
                               size_t max_batch_bytes)
    : session_(session), inbox_(inbox), max_batch_bytes_(max_batch_bytes) {}

CommandService::~CommandService() = default;

absl::StatusOr<std::shared_ptr<void>> CommandService::Admit(
    const grpc::ServerContextBase& context, CallLimit& limit) {
  HOLDFAST_RETURN_IF_ERROR(session_.Authenticate(context));
  return limit.Take();
}

grpc::ServerUnaryReactor* CommandService::Run(
    grpc::CallbackServerContext* context, const v1::CommandBatch* request,
    v1::ResultBatch* response) {
  auto count = Admit(*context, runs_);
  if (!count.ok()) return Answer(context, count.status());
  return AnswerInThread(context, run_threads_, /*client=*/"",
                        [this, request, response, count = *std::move(count)](
                            const std::stop_token& cancelled) {
                          return RunBatch(*request, cancelled, response);
                        });
}

absl::Status CommandService::RunBatch(const v1::CommandBatch& request,
                                      const std::stop_token& cancelled,
                                      v1::ResultBatch* response) {
  const auto results = std::make_shared<ResultQueue>();
  {
    HOLDFAST_ASSIGN_OR_RETURN(const SessionGate::Pass pass,
                              session_.gate().Enter(cancelled));
    HOLDFAST_RETURN_IF_ERROR(
        session_.Submit(std::make_shared<v1::CommandBatch>(request),
                        request.ByteSizeLong(), results));
  }
  results->Finish();
  const std::stop_callback abandon(cancelled, [&] { results->Abandon(); });
  for (v1::ResultBatch batch; results->Take(&batch);) {
    response->MergeFrom(batch);
  }
  if (cancelled.stop_requested()) return absl::CancelledError("given up");
  session_.TakeOutput(response);
  return absl::OkStatus();
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>*
CommandService::Execute(grpc::CallbackServerContext* context) {
  auto* const commands = new CommandStream(*context);  // deletes itself
  auto count = Admit(*context, executes_);
  if (count.ok()) {
    commands->Serve(execute_threads_,
                    [this, commands, count = *std::move(count)] {
                      return ServeExecute(*commands);
                    });
  } else {
    commands->End(count.status());
  }
  return commands;
}

absl::Status CommandService::ServeExecute(CommandStream& commands) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::optional<uint64_t> results_read,
                            ResultsRead(commands.context()));
  if (!results_read.has_value()) return ExecuteOnce(commands);
  commands.Accept(inbox_, max_batch_bytes_);
  const absl::Status status = ExecuteAttached(commands, *results_read);
  commands.AskForEnd();
  return status;
}

absl::Status CommandService::ReadAndWrite(
    const std::function<absl::Status()>& read,
    const std::function<void()>& write) {
  absl::Notification written;
  HOLDFAST_RETURN_IF_ERROR(execute_threads_.Run(/*client=*/"", [&] {
    write();
    written.Notify();
  }));
  const absl::Status status = read();
  written.WaitForNotification();
  return status;
}

absl::Status CommandService::ExecuteOnce(CommandStream& commands) {
  const auto results = std::make_shared<ResultQueue>();
  if (!session_.TakeExecute(results)) {
    return absl::FailedPreconditionError(
        "the session has an Execute stream already");
  }
  const auto taken = absl::MakeCleanup([this] { session_.ReturnExecute(); });
  commands.Accept(inbox_, max_batch_bytes_);
  const std::shared_ptr<ExecutorClock> clock = ClockFor(commands.context());
  results->SendDirectly(Sender(commands, clock));
  const std::stop_callback abandon(commands.cancelled(),
                                   [&] { results->Abandon(); });
  const absl::Status status = ReadAndWrite(
      [&] {
        const absl::Status read = ReadBatches(commands, results, clock);
        if (!read.ok() && commands.has_rings()) {
          results->AddError(/*sequence=*/0, read);
        }
        results->Finish();
        return read;
      },
      [&] {
        for (v1::ResultBatch batch; results->Take(&batch);) {
          if (!commands.WriteResults(batch)) return results->Abandon();
        }
      });
  results->SendDirectly(nullptr);
  commands.AskForEnd();
  return status;
}

absl::Status CommandService::ExecuteAttached(CommandStream& commands,
                                             uint64_t results_read) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const uint64_t call, attachment_.Begin(commands.context(), results_read));
  const std::stop_callback cancel(commands.cancelled(),
                                  [&] { attachment_.Cancel(call); });
  attachment_.SendDirectly(call, [&commands](const v1::ResultBatch& batch) {
    return commands.WriteNow(batch);
  });
  const absl::Status status = ReadAndWrite(
      [&] {
        const absl::Status read = ReadAttached(commands, call);
        attachment_.End(call);
        return read;
      },
      [&] {
        v1::ResultBatch batch;
        while (attachment_.Next(call, &batch) && commands.WriteResults(batch)) {
        }
      });
  attachment_.End(call);  // Also where there was no thread to write.
  return status;
}

absl::Status CommandService::ReadAttached(CommandStream& commands,
                                          uint64_t call) {
  if (!attachment_.AwaitTurn(call)) {
    return absl::UnavailableError("another Execute stream took the place");
  }
  const std::shared_ptr<ResultQueue>& results = attachment_.results();
  if (!session_.TakeExecute(results)) {
    return absl::FailedPreconditionError(
        "the session has an Execute stream already");
  }
  const auto taken = absl::MakeCleanup([this] { session_.ReturnExecute(); });
  attachment_.Acknowledge(call, session_.received_through());
  const auto batches = std::make_shared<BatchPool>();
  const std::function<bool()> has_more = [&commands] {
    return commands.HasMore();
  };
  size_t bytes = 0;
  for (int count = 1; attachment_.AwaitRoom(call); ++count) {
    const std::shared_ptr<DecodedBatch> batch = batches->Get();
    SessionGate::Pass pass;
    HOLDFAST_ASSIGN_OR_RETURN(
        const bool more,
        commands.ReadBatch(batch.get(), session_.gate(), &pass));
    if (!more) break;
    const size_t size = batch->bytes();
    bytes += size;
    HOLDFAST_RETURN_IF_ERROR(session_.Submit(
        std::shared_ptr<v1::CommandBatch>(batch, &batch->message()), size,
        results, /*clock=*/nullptr, &batch->encoded(), has_more));
    if (bytes < kAcknowledgedBytes && count % kAcknowledgedBatches != 0) {
      continue;
    }
    bytes = 0;
    attachment_.Acknowledge(call, session_.received_through());
  }
  return absl::OkStatus();
}

absl::Status CommandService::ReadBatches(
    CommandStream& commands, const std::shared_ptr<ResultQueue>& results,
    const std::shared_ptr<ExecutorClock>& clock) {
  const auto batches = std::make_shared<BatchPool>();
  const std::function<bool()> has_more = [&commands] {
    return commands.HasMore();
  };
  while (results->AwaitRoom()) {
    const std::shared_ptr<DecodedBatch> batch = batches->Get();
    SessionGate::Pass pass;
    HOLDFAST_ASSIGN_OR_RETURN(
        const bool more,
        commands.ReadBatch(batch.get(), session_.gate(), &pass));
    if (!more) break;
    if (clock != nullptr) clock->Mark(kBatchRead);
    // The message lives as long as its memory.
    HOLDFAST_RETURN_IF_ERROR(session_.Submit(
        std::shared_ptr<v1::CommandBatch>(batch, &batch->message()),
        batch->bytes(), results, clock, &batch->encoded(), has_more));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::executor
