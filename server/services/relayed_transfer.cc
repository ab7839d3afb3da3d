// SPDX-License-Identifier: Apache-2.0
#include "server/services/relayed_transfer.h"

#include <grpcpp/support/slice.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "proto/chunk.h"
#include "server/relay/transfer_pipe.h"
#include "server/rpc/metadata.h"
#include "server/rpc/served_stream.h"
#include "server/rpc/status_conversion.h"
#include "server/services/upstream_end.h"

namespace holdfast {
namespace {

using Message = TransferPipe::Message;

// The executor's messages wake the thread; it also looks by itself, in case
// that the executor suppresses the wake-ups.
constexpr absl::Duration kLookAnyway = absl::Seconds(10);

// While one message is copied, two have come.
constexpr size_t kMaxAheadBytes = 2 * TransferPipe::kSlotBytes;

// A wait for a pipe ends a little before the call's deadline, so that the
// client gets the reason.
absl::Time EndOfWait(const grpc::CallbackServerContext& context) {
  const absl::Time deadline = absl::FromChrono(context.deadline());
  return deadline -
         std::min(absl::Milliseconds(100), (deadline - absl::Now()) / 10);
}

// Used by the call's thread.
class RelayedTransfer {
 public:
  // `epoch` is the session's epoch at the beginning of the call.
  RelayedTransfer(ServedStream& call, supervisor::Session& session,
                  uint64_t epoch, std::shared_ptr<TransferPipes::Lease> lease,
                  StallGuard& stall_guard)
      : call_(call),
        session_(session),
        epoch_(epoch),
        lease_(std::move(lease)),
        stall_guard_(stall_guard) {}

  absl::Status Upload();
  absl::Status Download();

 private:
  TransferPipe& pipe() { return lease_->pipe(); }

  // Waits for a pipe, and begins the transfer there.
  absl::Status Begin(TransferDirection direction, v1::TransferRange range);
  // The executor's next message; false: none is there yet. Fails when none will
  // come.
  absl::StatusOr<bool> Hear(Message* message);
  // Waits until the executor says something, or until the client does, if that
  // is what an upload waits for.
  void Await(bool client);
  // Passes on the client's next message, or that there is none.
  absl::Status PassUp();
  // Passes on the executor's bytes. They are in the slot until gRPC has sent
  // them.
  absl::Status PassDown(const Message& message);
  absl::Status Finish(const internal::EndOfTransfer& end);
  // The end of a pipe that says no more, as the client is told of it.
  absl::Status Explain(grpc::Status status);

  ServedStream& call_;
  supervisor::Session& session_;
  const uint64_t epoch_;
  const std::shared_ptr<TransferPipes::Lease> lease_;
  StallGuard& stall_guard_;
  std::optional<StallGuard::Watch> watch_;  // while the client is awaited
  uint64_t size_ = 0;                       // of the transfer, in bytes
  bool all_up_ = false;                     // the client sends no more
  std::atomic<bool> awaits_client_ = false;
};

absl::Status RelayedTransfer::Begin(TransferDirection direction,
                                    v1::TransferRange range) {
  absl::Status opened =
      lease_->Open(call_.cancelled(), EndOfWait(call_.context()));
  // The commands that the transfer follows were the earlier executor's. The
  // epoch changes before the session serves again: if it is the same after
  // Serving, the session served in this epoch.
  if (opened.ok()) opened = session_.Serving();
  if (opened.ok() && session_.epoch() != epoch_) {
    opened = absl::UnavailableError("the session's executor has been replaced");
  }
  if (!opened.ok()) return Explain(ToGrpcStatus(opened));
  Message message;
  internal::BeginTransfer& begin = *message.mutable_begin();
  begin.set_direction(direction);
  size_ = range.size();
  *begin.mutable_range() = std::move(range);
  if (const auto upload = FindMetadata(call_.context(), kTransferKey)) {
    begin.set_upload_try(upload->data(), upload->size());
  }
  (void)pipe().Write(message);  // Hear tells of a pipe that is closed.
  return absl::OkStatus();
}

absl::StatusOr<bool> RelayedTransfer::Hear(Message* message) {
  // Messages that came before the end are read before it.
  const bool closed = pipe().closed();
  const absl::StatusOr<bool> heard = pipe().Read(message);
  if (!heard.ok()) {
    LogFor(session_.client(), LogLevel::kError, "session ", session_.id(),
           ": from its executor: ", heard.status().message());
    return absl::InternalError("the executor broke the rules of a transfer");
  }
  if (*heard || !closed) return *heard;
  return Explain(lease_->AwaitEnd());
}

absl::Status RelayedTransfer::Explain(grpc::Status status) {
  if (call_.cancelled().stop_requested()) {
    return absl::CancelledError("given up");
  }
  if (status.ok()) {
    return absl::InternalError(
        "the executor ended in the middle of a transfer");
  }
  if (IsBrokenConnection(status)) status = ExplainBroken(session_, status);
  return FromGrpcStatus(status);
}

void RelayedTransfer::Await(bool client) {
  if (!client) {
    watch_.reset();
  } else if (!watch_.has_value()) {
    watch_.emplace(stall_guard_, call_.context());
  }
  // A message that comes before the flag is set is seen here.
  awaits_client_ = client;
  if (client && call_.Readable()) return;
  pipe().Await(size_, kLookAnyway);
}

absl::Status RelayedTransfer::Upload() {
  grpc::ByteBuffer header;
  call_.Read(&header);
  HOLDFAST_ASSIGN_OR_RETURN(auto range, ReadUploadHeader(header));
  HOLDFAST_RETURN_IF_ERROR(
      Begin(internal::BeginTransfer::DIRECTION_UPLOAD, std::move(range)));
  const std::stop_callback give_up(call_.cancelled(),
                                   [this] { lease_->Cancel(); });
  // While the thread waits for a slot, a message more does not help.
  call_.TellReadable([this] {
    if (awaits_client_) pipe().Interrupt();
  });
  const auto tell_no_more =
      absl::MakeCleanup([this] { call_.TellReadable(nullptr); });
  for (;;) {
    Message message;
    HOLDFAST_ASSIGN_OR_RETURN(const bool heard, Hear(&message));
    if (message.has_end()) return Finish(message.end());
    if (heard) continue;
    if (all_up_ || !pipe().HasFreeSlot()) {
      Await(/*client=*/false);
    } else if (!call_.Readable()) {
      Await(/*client=*/true);
    } else {
      HOLDFAST_RETURN_IF_ERROR(PassUp());
    }
  }
}

absl::Status RelayedTransfer::PassUp() {
  watch_.reset();
  grpc::ByteBuffer message;
  if (!call_.Read(&message)) {
    all_up_ = true;
    Message last;
    last.set_no_more_slots(true);
    (void)pipe().Write(last);
    return absl::OkStatus();
  }
  HOLDFAST_ASSIGN_OR_RETURN(const ChunkData data, ReadUploadData(message));
  if (data.size() == 0) return absl::OkStatus();
  const uint32_t slot = pipe().TakeSlot();
  data.CopyTo(pipe().data(slot));
  (void)pipe().Write(FilledSlot(slot, data.size()));
  return absl::OkStatus();
}

absl::Status RelayedTransfer::Download() {
  grpc::ByteBuffer request;
  if (!call_.Read(&request)) {
    return absl::InvalidArgumentError(
        "a download begins with a DownloadRequest");
  }
  HOLDFAST_ASSIGN_OR_RETURN(auto range, ReadDownloadRequest(request));
  HOLDFAST_RETURN_IF_ERROR(
      Begin(internal::BeginTransfer::DIRECTION_DOWNLOAD, std::move(range)));
  const std::stop_callback give_up(call_.cancelled(),
                                   [this] { lease_->Cancel(); });
  for (;;) {
    Message message;
    HOLDFAST_ASSIGN_OR_RETURN(const bool heard, Hear(&message));
    if (!heard) {
      Await(/*client=*/false);
      continue;
    }
    if (message.has_slot()) HOLDFAST_RETURN_IF_ERROR(PassDown(message));
    if (message.has_end()) return Finish(message.end());
  }
}

absl::Status RelayedTransfer::PassDown(const Message& message) {
  struct Sent {
    std::shared_ptr<TransferPipes::Lease> lease;
    uint32_t slot;
  };
  const uint32_t slot = message.slot().index();
  grpc::ByteBuffer down = MakeDownloadData(grpc::Slice(
      pipe().data(slot), message.slot().size(),
      [](void* owner) {
        const std::unique_ptr<Sent> sent(static_cast<Sent*>(owner));
        if (!sent->lease->pipe().Return(sent->slot)) sent->lease->Cancel();
      },
      new Sent{lease_, slot}));
  if (message.has_end() && !message.end().has_error()) {
    call_.WriteLast(down);
    return absl::OkStatus();
  }
  return call_.Write(down) ? absl::OkStatus()
                           : absl::CancelledError("given up");
}

absl::Status RelayedTransfer::Finish(const internal::EndOfTransfer& end) {
  if (end.has_error()) return FromError(end.error());
  if (end.has_upload()) {
    const grpc::Slice slice(end.upload().SerializeAsString());
    call_.WriteLast(grpc::ByteBuffer(&slice, 1));
    // An end that comes too soon leaves messages in the pipe.
    if (!all_up_ || !pipe().IsEmpty()) return absl::OkStatus();
  }
  lease_->NoteDone();
  return absl::OkStatus();
}

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* RelayTransfer(
    grpc::CallbackServerContext* context, TransferDirection direction,
    std::shared_ptr<supervisor::Session> session,
    std::shared_ptr<TransferPipes::Lease> lease, StallGuard& stall_guard,
    CallThreads& threads) {
  auto* const call = new ServedStream(*context, &stall_guard, kMaxAheadBytes);
  const std::string client = session->client();
  const uint64_t epoch = session->epoch();
  call->ServeMessages(
      threads,
      [call, direction, epoch, session = std::move(session),
       lease = std::move(lease), &stall_guard] {
        RelayedTransfer transfer(*call, *session, epoch, lease, stall_guard);
        return direction == internal::BeginTransfer::DIRECTION_UPLOAD
                   ? transfer.Upload()
                   : transfer.Download();
      },
      client);
  return call;
}

}  // namespace holdfast
