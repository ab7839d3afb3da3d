// SPDX-License-Identifier: Apache-2.0
#include "server/executor/service/command_service.h"

#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "server/executor/service/batch_pool.h"
#include "server/rpc/metadata.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

// How often a waiting call looks whether its client is still there.
constexpr absl::Duration kCancelPoll = absl::Milliseconds(50);

// A client is told that its commands have arrived after so many bytes or
// batches of them: it keeps them until then.
constexpr size_t kAcknowledgedBytes = size_t{256} << 10;
constexpr int kAcknowledgedBatches = 16;

// How many results the client has read before; nullopt: it does not come back
// when its connection breaks.
absl::StatusOr<std::optional<uint64_t>> ResultsRead(
    const grpc::ServerContext& context) {
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
std::shared_ptr<ExecutorClock> ClockFor(const grpc::ServerContext& context) {
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

grpc::Status CommandService::Run(grpc::ServerContext* context,
                                 const v1::CommandBatch* request,
                                 v1::ResultBatch* response) {
  absl::Status status = session_.Authenticate(*context);
  if (!status.ok()) return ToGrpcStatus(status);
  auto results = std::make_shared<ResultQueue>();
  {
    const auto pass = session_.gate().Enter();
    if (!pass.ok()) return ToGrpcStatus(pass.status());
    status = session_.Submit(std::make_shared<v1::CommandBatch>(*request),
                             request->ByteSizeLong(), results);
  }
  if (!status.ok()) return ToGrpcStatus(status);
  results->Finish();
  v1::ResultBatch batch;
  do {
    while (!results->Await(kCancelPoll)) {
      if (!context->IsCancelled()) continue;
      results->Abandon();
      return ToGrpcStatus(absl::CancelledError("given up"));
    }
    response->MergeFrom(batch);
  } while (results->Take(&batch));
  session_.TakeOutput(response);
  return grpc::Status::OK;
}

grpc::Status CommandService::Execute(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<v1::ResultBatch, v1::CommandBatch>* stream) {
  absl::Status status = session_.Authenticate(*context);
  if (!status.ok()) return ToGrpcStatus(status);
  const auto results_read = ResultsRead(*context);
  if (!results_read.ok()) return ToGrpcStatus(results_read.status());
  if (results_read->has_value()) {
    CommandStream commands(*context, *stream, inbox_, max_batch_bytes_);
    return ToGrpcStatus(ExecuteAttached(commands, *context, **results_read));
  }
  const auto results = std::make_shared<ResultQueue>();
  if (!session_.TakeExecute(results)) {
    return ToGrpcStatus(absl::FailedPreconditionError(
        "the session has an Execute stream already"));
  }
  const auto taken = absl::MakeCleanup([this] { session_.ReturnExecute(); });
  CommandStream commands(*context, *stream, inbox_, max_batch_bytes_);
  const std::shared_ptr<ExecutorClock> clock = ClockFor(*context);
  if (commands.has_rings()) results->SendDirectly(Sender(commands, clock));
  std::thread writer([&commands, results] {
    for (v1::ResultBatch batch; results->Take(&batch);) {
      if (!commands.Write(batch)) {
        results->Abandon();
        return;
      }
    }
  });
  status = ReadBatches(commands, results, clock);
  if (!status.ok() && commands.has_rings()) {
    results->AddError(/*sequence=*/0, status);
  }
  if (context->IsCancelled()) results->Abandon();
  results->Finish();
  writer.join();
  results->SendDirectly(nullptr);
  return ToGrpcStatus(status);
}

absl::Status CommandService::ExecuteAttached(CommandStream& commands,
                                             grpc::ServerContext& context,
                                             uint64_t results_read) {
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t call,
                            attachment_.Begin(context, results_read));
  if (commands.has_rings()) {
    attachment_.SendDirectly(call, [&commands](const v1::ResultBatch& batch) {
      return commands.WriteNow(batch);
    });
  }
  std::thread writer([this, &commands, call] {
    v1::ResultBatch batch;
    while (attachment_.Next(call, &batch) && commands.Write(batch)) {
    }
  });
  const absl::Status status = ReadAttached(commands, call);
  attachment_.End(call);
  writer.join();
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
  size_t bytes = 0;
  for (int count = 1; attachment_.AwaitRoom(call); ++count) {
    const std::shared_ptr<DecodedBatch> batch = batches->Get();
    SessionGate::Pass pass;
    HOLDFAST_ASSIGN_OR_RETURN(
        const bool more,
        commands.Read(&batch->message(), session_.gate(), &pass));
    if (!more) break;
    const size_t size = batch->bytes();
    bytes += size;
    HOLDFAST_RETURN_IF_ERROR(session_.Submit(
        std::shared_ptr<v1::CommandBatch>(batch, &batch->message()), size,
        results));
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
  while (results->AwaitRoom()) {
    const std::shared_ptr<DecodedBatch> batch = batches->Get();
    SessionGate::Pass pass;
    HOLDFAST_ASSIGN_OR_RETURN(
        const bool more,
        commands.Read(&batch->message(), session_.gate(), &pass));
    if (!more) break;
    if (clock != nullptr) clock->Mark(kBatchRead);
    // The message lives as long as its memory.
    HOLDFAST_RETURN_IF_ERROR(session_.Submit(
        std::shared_ptr<v1::CommandBatch>(batch, &batch->message()),
        batch->bytes(), results, clock));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::executor
