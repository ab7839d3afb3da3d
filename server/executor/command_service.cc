// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command_service.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/doorbell.h"
#include "core/base/log.h"
#include "core/base/spin.h"
#include "server/executor/batch_pool.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

// How often a waiting call looks whether its client is still there.
constexpr absl::Duration kCancelPoll = absl::Milliseconds(50);

// The client's doorbell, once it is here: its descriptor takes a way of its own
// and may come after the call. Found by the thread that reads; any may ring.
class ClientDoorbell {
 public:
  ClientDoorbell(const grpc::ServerContext& context, DescriptorInbox& inbox)
      : inbox_(inbox) {
    const auto& metadata = context.client_metadata();
    const auto found = metadata.find("holdfast-doorbell");
    if (found == metadata.end()) return;
    token_ = absl::HexStringToBytes(
        absl::string_view(found->second.data(), found->second.size()));
    looks_left_ = kLooks;
  }

  // Until the client has rung for a batch after so many, or for a moment.
  void ExpectBatch(uint64_t batches) {
    if (looks_left_ > 0) Look();
    if (!doorbell_.has_value()) return;
    NapUntil([&] { return doorbell_->rung() > batches; });
  }
  void Ring() const {
    if (const Doorbell* const doorbell = found_) doorbell->Ring();
  }

 private:
  static constexpr int kLooks = 64;

  void Look() {
    --looks_left_;
    const auto memory = inbox_.Claim(token_);
    if (!memory.ok()) return;
    looks_left_ = 0;
    auto doorbell = Doorbell::Map(memory->get(), Doorbell::End::kExecutor);
    if (!doorbell.ok()) return LogWarning(doorbell.status().message());
    doorbell_ = *std::move(doorbell);
    found_ = &*doorbell_;
  }

  DescriptorInbox& inbox_;
  std::string token_;
  int looks_left_ = 0;
  std::optional<Doorbell> doorbell_;
  std::atomic<const Doorbell*> found_{nullptr};
};

}  // namespace

grpc::Status CommandService::Run(grpc::ServerContext* context,
                                 const v1::CommandBatch* request,
                                 v1::ResultBatch* response) {
  absl::Status status = session_.Authenticate(*context);
  if (!status.ok()) return ToGrpcStatus(status);
  auto results = std::make_shared<ResultQueue>();
  status = session_.Submit(std::make_shared<v1::CommandBatch>(*request),
                           request->ByteSizeLong(), results);
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
  return grpc::Status::OK;
}

grpc::Status CommandService::Execute(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<v1::ResultBatch, v1::CommandBatch>* stream) {
  absl::Status status = session_.Authenticate(*context);
  if (!status.ok()) return ToGrpcStatus(status);
  if (!session_.TakeExecute()) {
    return ToGrpcStatus(absl::FailedPreconditionError(
        "the session has an Execute stream already"));
  }
  const auto taken = absl::MakeCleanup([this] { session_.ReturnExecute(); });
  // Shows the client that the stream is served, before there are results.
  stream->SendInitialMetadata();

  ClientDoorbell doorbell(*context, inbox_);
  auto results = std::make_shared<ResultQueue>();
  std::thread writer([stream, results, &doorbell] {
    for (v1::ResultBatch batch; results->Take(&batch); doorbell.Ring()) {
      if (!stream->Write(batch)) {
        results->Abandon();
        return;
      }
    }
  });
  const auto batches = std::make_shared<BatchPool>();
  for (uint64_t read = 0; status.ok() && results->AwaitRoom(); ++read) {
    const std::shared_ptr<DecodedBatch> batch = batches->Get();
    doorbell.ExpectBatch(read);
    if (!stream->Read(&batch->message())) break;
    // The message lives as long as its memory.
    status = session_.Submit(
        std::shared_ptr<v1::CommandBatch>(batch, &batch->message()),
        batch->bytes(), results);
  }
  if (context->IsCancelled()) results->Abandon();
  results->Finish();
  writer.join();
  return ToGrpcStatus(status);
}

}  // namespace holdfast::executor
