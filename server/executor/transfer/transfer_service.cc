// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/transfer_service.h"

#include <fcntl.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "proto/chunk.h"
#include "server/executor/transfer/arena.h"
#include "server/executor/transfer/transfer.h"
#include "server/relay/block_sender.h"
#include "server/relay/relayed_message.h"
#include "server/rpc/metadata.h"
#include "server/rpc/unary_call.h"

namespace holdfast::executor {
namespace {

using Direction = Transfer::Direction;

// With `blocks`, a message that was relayed.
absl::StatusOr<UploadPart> Read(const std::shared_ptr<SharedBlocks>& blocks,
                                const grpc::ByteBuffer& message) {
  if (blocks == nullptr) return ReadUploadRequest(message);
  HOLDFAST_ASSIGN_OR_RETURN(Relayed relayed, ReadRelayed(blocks, message));
  if (const auto* whole = absl::get_if<grpc::ByteBuffer>(&relayed)) {
    return ReadUploadRequest(*whole);
  }
  return UploadPart(ChunkData({absl::get<grpc::Slice>(std::move(relayed))}));
}

// The bytes of a part that comes after the header.
absl::StatusOr<ChunkData> DataOf(UploadPart part, const Transfer& transfer) {
  ChunkData* data = absl::get_if<ChunkData>(&part);
  if (data == nullptr) {
    return absl::InvalidArgumentError("an upload with a second header");
  }
  if (data->size() > transfer.max_piece()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", data->size(), " bytes: at most ",
                     transfer.max_piece()));
  }
  if (data->size() > transfer.rest()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", data->size(), " bytes, more than the ",
                     transfer.rest(), " that are left of those announced"));
  }
  return std::move(*data);
}

absl::Status StartUpload(const ChunkData& data, Transfer& transfer) {
  if (data.size() == 0) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(Staging::BlockPtr block, transfer.NextBlock());
  while (block == nullptr) {
    uint64_t size = 0;
    HOLDFAST_RETURN_IF_ERROR(transfer.FinishOldest(&size).status());
    HOLDFAST_ASSIGN_OR_RETURN(block, transfer.NextBlock());
  }
  data.CopyTo(block->data());
  transfer.Start(std::move(block), data.size());
  return absl::OkStatus();
}

// The block is given back when gRPC has sent the bytes.
grpc::Slice SliceOf(Staging::BlockPtr block, uint64_t size) {
  char* const data = block->data();
  return grpc::Slice(
      data, size,
      [](void* owner) { delete static_cast<Staging::BlockPtr*>(owner); },
      new Staging::BlockPtr(std::move(block)));
}

// The messages of one download.
class DownloadMessages {
 public:
  // With `blocks`, they are relayed.
  DownloadMessages(std::stop_token cancelled,
                   std::shared_ptr<SharedBlocks> blocks)
      : cancelled_(std::move(cancelled)) {
    if (blocks != nullptr) sender_.emplace(std::move(blocks));
  }
  // However the download ends, the daemon passes on what was sent, unless the
  // client is not there any more.
  ~DownloadMessages() {
    if (sender_.has_value() && !cancelled_.stop_requested()) sender_->Leave();
  }
  DownloadMessages(const DownloadMessages&) = delete;
  DownloadMessages& operator=(const DownloadMessages&) = delete;

  // CANCELLED: the client has given up.
  absl::StatusOr<grpc::ByteBuffer> Make(Staging::BlockPtr block,
                                        uint64_t size) {
    if (!sender_.has_value()) {
      return MakeDownloadData(SliceOf(std::move(block), size));
    }
    if (!sender_->AwaitRoom(cancelled_)) return GiveUp();
    auto sent = sender_->Send(
        size, [&](char* shared) { std::memcpy(shared, block->data(), size); });
    if (sent.has_value()) return *std::move(sent);
    return RelayWhole(MakeDownloadData(SliceOf(std::move(block), size)));
  }

  // The client is gone, and nothing is passed on any more.
  absl::Status GiveUp() {
    sender_.reset();
    return absl::CancelledError("given up");
  }

 private:
  const std::stop_token cancelled_;
  std::optional<BlockSender> sender_;
};

// Page-locking takes long, so it does not happen on the submission thread.
absl::Status MakeArena(Session& session, const std::stop_token& cancelled,
                       const v1::RegisterArenaRequest& request,
                       UniqueFd descriptor) {
  std::shared_ptr<const cuda::Context> context;
  std::shared_ptr<Quota> quota;
  absl::StatusOr<Charge> charge;
  absl::Status status = absl::UnavailableError("the session is being closed");
  (void)session.Run([&](Resources& resources) {
    status = resources.arenas.CheckNew(request.arena());
    const auto device = resources.FirstDevice();
    if (status.ok()) status = device.status();
    if (status.ok()) charge = resources.arenas.Reserve();
    if (status.ok()) status = charge.status();
    if (!status.ok()) return;
    context = (*device)->context;
    quota = resources.account().arena_memory();
  });
  HOLDFAST_RETURN_IF_ERROR(status);
  // There may be room only without arenas that were freed and that a device
  // still uses.
  if (!quota->AwaitSettled(request.size(), cancelled)) {
    return absl::CancelledError("given up");
  }
  const int memory = descriptor.get();
  const UniqueFd kept(memory < 0 ? -1 : fcntl(memory, F_DUPFD_CLOEXEC, 0));
  HOLDFAST_ASSIGN_OR_RETURN(
      auto arena, Arena::Create(std::move(context), std::move(descriptor),
                                request.size(), *quota));
  status = absl::UnavailableError("the session is being closed");
  (void)session.Run([&](Resources& resources) {
    // Another call may have taken the handle meanwhile.
    status = resources.arenas.CheckNew(request.arena());
    if (!status.ok()) return;
    const auto& created = resources.options().host_memory_created;
    if (created) created(request.arena(), request.size(), kept.get());
    PutArena(resources, request.arena(), std::move(arena), *std::move(charge));
  });
  return status;
}

}  // namespace

TransferService::TransferService(Session& session, FdReceiver& inbox,
                                 std::shared_ptr<SharedBlocks> blocks,
                                 absl::Duration stall_limit)
    : session_(session),
      inbox_(inbox),
      blocks_(std::move(blocks)),
      stall_guard_(stall_limit) {
  using grpc::internal::RpcMethod;
  using grpc::internal::RpcServiceMethod;
  const auto stream = [this](Work work) {
    return new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer,
                                                   grpc::ByteBuffer>(
        [this, work](grpc::CallbackServerContext* context) {
          return Serve(context, work);
        });
  };
  AddMethod(new RpcServiceMethod("/holdfast.v1.TransferService/Upload",
                                 RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodRawCallback(0, stream(&TransferService::Upload));
  AddMethod(new RpcServiceMethod("/holdfast.v1.TransferService/Download",
                                 RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodRawCallback(1, stream(&TransferService::Download));
  AddMethod(new RpcServiceMethod("/holdfast.v1.TransferService/RegisterArena",
                                 RpcMethod::NORMAL_RPC, nullptr));
  MarkMethodCallback(
      2, new grpc::internal::CallbackUnaryHandler<v1::RegisterArenaRequest,
                                                  v1::RegisterArenaResponse>(
             [this](auto* context, const auto* request, auto* response) {
               return RegisterArena(context, request, response);
             }));
}

absl::StatusOr<std::shared_ptr<void>> TransferService::Admit(
    const grpc::ServerContextBase& context) {
  HOLDFAST_RETURN_IF_ERROR(session_.Authenticate(context));
  return transfers_.Take();
}

std::shared_ptr<SharedBlocks> TransferService::BlocksOf(
    const grpc::ServerContextBase& context) const {
  return FindMetadata(context, kRelayedKey).has_value() ? blocks_ : nullptr;
}

ServedStream* TransferService::Serve(grpc::CallbackServerContext* context,
                                     Work work) {
  auto* const call = new ServedStream(*context, &stall_guard_);
  auto admitted = Admit(*context);
  if (!admitted.ok()) {
    call->End(admitted.status());
    return call;
  }
  call->ServeMessages(
      threads_, [this, call, work, count = *std::move(admitted)] {
        const auto pass = session_.gate().Enter(call->cancelled());
        return pass.ok() ? (this->*work)(*call) : pass.status();
      });
  return call;
}

absl::StatusOr<uint64_t> TransferService::ReceiveAll(ServedStream& call) {
  const auto blocks = BlocksOf(call.context());
  grpc::ByteBuffer message;
  UploadPart part;
  if (call.Read(&message)) {
    HOLDFAST_ASSIGN_OR_RETURN(part, Read(blocks, message));
  }
  if (!absl::holds_alternative<v1::TransferRange>(part)) {
    return absl::InvalidArgumentError("an upload begins with its header");
  }
  const auto range = absl::get<v1::TransferRange>(std::move(part));
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto transfer,
      Transfer::Begin(Direction::kUpload, session_, range, call.cancelled()));
  while (call.Read(&message)) {
    HOLDFAST_ASSIGN_OR_RETURN(part, Read(blocks, message));
    HOLDFAST_ASSIGN_OR_RETURN(const ChunkData data,
                              DataOf(std::move(part), *transfer));
    HOLDFAST_RETURN_IF_ERROR(StartUpload(data, *transfer));
  }
  HOLDFAST_RETURN_IF_ERROR(transfer->FinishAll());
  if (transfer->rest() == 0) return range.size();
  return absl::InvalidArgumentError(
      absl::StrCat(range.size() - transfer->rest(), " bytes came, ",
                   range.size(), " were announced"));
}

absl::Status TransferService::SendAll(ServedStream& call,
                                      const v1::TransferRange& range) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto transfer,
      Transfer::Begin(Direction::kDownload, session_, range, call.cancelled()));
  DownloadMessages messages(call.cancelled(), BlocksOf(call.context()));
  while (transfer->rest() > 0 || transfer->HasPieces()) {
    if (transfer->rest() > 0) {
      HOLDFAST_ASSIGN_OR_RETURN(Staging::BlockPtr block, transfer->NextBlock());
      if (block != nullptr) {
        transfer->Start(std::move(block),
                        std::min(transfer->max_piece(), transfer->rest()));
        continue;
      }
    }
    uint64_t size = 0;
    HOLDFAST_ASSIGN_OR_RETURN(Staging::BlockPtr block,
                              transfer->FinishOldest(&size));
    HOLDFAST_ASSIGN_OR_RETURN(grpc::ByteBuffer message,
                              messages.Make(std::move(block), size));
    if (transfer->rest() == 0 && !transfer->HasPieces()) {
      call.WriteLast(message);
    } else if (!call.Write(message)) {
      return messages.GiveUp();
    }
  }
  return absl::OkStatus();
}

absl::Status TransferService::Upload(ServedStream& call) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::shared_ptr<void> entered,
                            tries_.Enter(call.context(), call.cancelled()));
  v1::UploadResponse response;
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t size, ReceiveAll(call));
  response.set_size(size);
  response.set_path(v1::COPY_PATH_STREAM);
  const grpc::Slice slice(response.SerializeAsString());
  call.WriteLast(grpc::ByteBuffer(&slice, 1));
  return absl::OkStatus();
}

absl::Status TransferService::Download(ServedStream& call) {
  grpc::ByteBuffer message;
  v1::DownloadRequest request;
  if (!call.Read(&message) ||
      !grpc::SerializationTraits<v1::DownloadRequest>::Deserialize(&message,
                                                                   &request)
           .ok()) {
    return absl::InvalidArgumentError(
        "a download begins with a DownloadRequest");
  }
  return SendAll(call, request.range());
}

grpc::ServerUnaryReactor* TransferService::RegisterArena(
    grpc::CallbackServerContext* context,
    const v1::RegisterArenaRequest* request, v1::RegisterArenaResponse*) {
  auto admitted = Admit(*context);
  if (!admitted.ok()) return Answer(context, admitted.status());
  return AnswerInThread(
      context, threads_, /*client=*/"",
      [this, request, count = *std::move(admitted)](
          const std::stop_token& cancelled) -> absl::Status {
        HOLDFAST_ASSIGN_OR_RETURN(const SessionGate::Pass pass,
                                  session_.gate().Enter(cancelled));
        HOLDFAST_ASSIGN_OR_RETURN(UniqueFd descriptor,
                                  inbox_.Claim(request->descriptor_token()));
        return MakeArena(session_, cancelled, *request, std::move(descriptor));
      });
}

}  // namespace holdfast::executor
