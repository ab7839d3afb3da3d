// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/execute_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cpp/connection/message_poller.h"
#include "client/cpp/connection/rpc_status.h"
#include "core/base/start_thread.h"
#include "core/base/status_macros.h"
#include "proto/metadata.h"

namespace holdfast {
namespace {

constexpr char kExecuteMethod[] = "/holdfast.v1.CommandService/Execute";

// Messages and the end of the call wake the thread that waits; it also looks by
// itself, in case that they do not.
constexpr absl::Duration kLookAnyway = absl::Seconds(10);

// A call that ends instead of being answered does so at once.
constexpr absl::Duration kEndOfCall = absl::Seconds(1);

// A batch that was written is smaller.
constexpr size_t kMaxUnreadBytes = size_t{64} << 20;

// The last that a relay of this process says: why it ends.
bool IsEndOfRelay(const v1::ResultBatch& results) {
  return results.results_size() == 1 && results.results(0).sequence() == 0 &&
         results.results(0).has_error();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExecuteStream>> ExecuteStream::Open(
    std::shared_ptr<grpc::ChannelInterface> channel, Options options) {
  std::unique_ptr<ExecuteStream> stream(new ExecuteStream);
  if (options.rings != nullptr && options.ring_token.empty()) {
    // They lead to a relay of this process, which makes the calls.
    stream->rings_ = std::move(options.rings);
    return stream;
  }
  grpc::ClientContext& context = stream->context_;
  context.AddMetadata(kSessionTokenKey.name, options.session_token);
  if (options.rings != nullptr) {
    context.AddMetadata(kRingsKey.name, options.ring_token);
  }
  if (options.step_times) context.AddMetadata(kStepTimesKey.name, "1");
  HOLDFAST_ASSIGN_OR_RETURN(auto poller, MessagePoller::Get());
  stream->call_ = std::make_unique<Call>(std::move(poller), std::move(channel),
                                         kExecuteMethod, context);
  if (options.rings == nullptr) return stream;
  HOLDFAST_RETURN_IF_ERROR(stream->TakeRings(std::move(options.rings)));
  return stream;
}

absl::Status ExecuteStream::TakeRings(std::unique_ptr<RingPair> rings) {
  call_->AwaitInitialMetadata();
  if (context_.GetServerInitialMetadata().count(kRingsKey.name) == 0) {
    // The executor has no use for them. Or the call has ended, and nobody takes
    // batches any more: the rings will tell so, which gRPC would not.
    call_->Await(kEndOfCall);
    if (!call_->HasEnded()) return absl::OkStatus();
  }
  rings_ = std::move(rings);
  HOLDFAST_ASSIGN_OR_RETURN(
      end_, StartThread("the end of a call", [this] { AwaitEnd(); }));
  return absl::OkStatus();
}

ExecuteStream::~ExecuteStream() {
  if (!end_.joinable()) return;
  Cancel();
  end_.join();
}

void ExecuteStream::AwaitEnd() {
  for (v1::ResultBatch none; call_->Read(&none);) {
  }
  rings_->Close();
}

bool ExecuteStream::Write(CommandBatchPool& pool,
                          std::unique_ptr<CommandBatch> batch) {
  if (!has_rings()) return call_->Write(pool.ToBytes(std::move(batch)));
  const bool written = Write(batch->view());
  pool.GiveBack(std::move(batch));
  return written;
}

bool ExecuteStream::Write(absl::string_view batch) {
  if (has_rings()) return rings_->writer().Write(batch).ok();
  const grpc::Slice slice(batch.data(), batch.size());
  return call_->Write(grpc::ByteBuffer(&slice, 1));
}

std::vector<std::string> ExecuteStream::Unread() const {
  if (!has_rings()) return {};
  return rings_->writer().Unread(kMaxUnreadBytes);
}

void ExecuteStream::Sleep() {
  if (has_rings()) {
    rings_->reader().Sleep(kLookAnyway);
  } else {
    call_->Sleep(kLookAnyway);
  }
}

ExecuteStream::ReadResult ExecuteStream::Read(v1::ResultBatch* results) {
  if (has_rings()) return ReadRing(results);
  switch (call_->Take(results)) {
    case Call::Taken::kMessage:
      return ReadResult::kBatch;
    case Call::Taken::kNothing:
      return ReadResult::kWouldBlock;
    case Call::Taken::kEnd:
      return ReadResult::kEnd;
  }
  return ReadResult::kEnd;
}

ExecuteStream::ReadResult ExecuteStream::ReadRing(v1::ResultBatch* results) {
  // Messages that came before the end are read before it.
  const bool ended = rings_->reader().closed();
  const auto message = rings_->reader().Read();
  if (message.ok() && !message->has_value()) {
    return ended ? ReadResult::kEnd : ReadResult::kWouldBlock;
  }
  absl::Status status = message.status();
  if (message.ok() && (*message)->empty() && call_ != nullptr) {
    call_->WritesDone();  // As the executor asks, to tell its status.
    results->Clear();
    return ReadResult::kBatch;
  }
  if (message.ok()) {
    const int size = static_cast<int>((*message)->size());
    if (results->ParseFromArray((*message)->data(), size)) {
      if (call_ != nullptr || !IsEndOfRelay(*results))
        return ReadResult::kBatch;
      status = ToStatus(results->results(0).error());
      broken_.Update(status);
      Cancel();
      return ReadResult::kEnd;
    }
    status = absl::DataLossError(
        absl::StrCat("the executor sent ", size, " bytes that are no results"));
  }
  broken_.Update(status);
  Cancel();
  return ReadResult::kEnd;
}

void ExecuteStream::Cancel() {
  context_.TryCancel();
  if (call_ == nullptr) rings_->Close();
}

absl::Status ExecuteStream::Finish() {
  if (end_.joinable()) end_.join();
  if (call_ == nullptr) return broken_;
  const absl::Status status = ToStatus(call_->Finish());
  return broken_.ok() ? status : broken_;
}

}  // namespace holdfast
