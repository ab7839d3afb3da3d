// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/transfer_service.h"

#include <fcntl.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "proto/chunk.h"
#include "server/executor/transfer/arena.h"
#include "server/executor/transfer/transfer.h"
#include "server/relay/relayed_message.h"
#include "server/relay/sent_blocks.h"
#include "server/rpc/metadata.h"
#include "server/rpc/unary_call.h"

namespace holdfast::executor {
namespace {

using Direction = Transfer::Direction;

// Does the daemon relay the call?
bool IsRelayed(ServedStream& call) {
  return FindMetadata(call.context(), kRelayedKey).has_value();
}

// The first message of a relayed upload.
absl::StatusOr<UploadPart> ReadHeader(
    const std::shared_ptr<SharedBlocks>& blocks,
    const grpc::ByteBuffer& message) {
  HOLDFAST_ASSIGN_OR_RETURN(const Relayed relayed,
                            ReadRelayed(blocks, message));
  const auto* const whole = absl::get_if<grpc::ByteBuffer>(&relayed);
  return whole == nullptr ? UploadPart() : ReadUploadRequest(*whole);
}

absl::Status CheckSize(uint64_t size, const Transfer& transfer) {
  if (size > transfer.max_piece()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a message of ", size, " bytes: at most ", transfer.max_piece()));
  }
  if (size > transfer.rest()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", size, " bytes, more than the ",
                     transfer.rest(), " that are left of those announced"));
  }
  return absl::OkStatus();
}

// Waits for other pieces if there are as many as there may be.
absl::Status AwaitTurn(Transfer& transfer) {
  uint64_t size = 0;
  while (!transfer.MayStart()) {
    HOLDFAST_RETURN_IF_ERROR(transfer.FinishOldest(&size).status());
  }
  return absl::OkStatus();
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
  const CUdeviceptr bytes = block->device_address();
  transfer.StartUpload(bytes, data.size(), std::move(block));
  return absl::OkStatus();
}

// The bytes are in a block of the daemon's, which is given back with the slice.
absl::Status StartUpload(grpc::Slice slice, Transfer& transfer) {
  HOLDFAST_RETURN_IF_ERROR(CheckSize(slice.size(), transfer));
  HOLDFAST_RETURN_IF_ERROR(AwaitTurn(transfer));
  HOLDFAST_ASSIGN_OR_RETURN(const CUdeviceptr bytes,
                            transfer.memory().AddressOf(
                                reinterpret_cast<const char*>(slice.begin())));
  const size_t size = slice.size();
  transfer.StartUpload(bytes, size,
                       std::make_shared<grpc::Slice>(std::move(slice)));
  return absl::OkStatus();
}

// A part that comes after the header.
absl::Status StartUpload(const grpc::ByteBuffer& message, Transfer& transfer) {
  HOLDFAST_ASSIGN_OR_RETURN(const UploadPart part, ReadUploadRequest(message));
  const auto* const data = absl::get_if<ChunkData>(&part);
  if (data == nullptr) {
    return absl::InvalidArgumentError("an upload with a second header");
  }
  HOLDFAST_RETURN_IF_ERROR(CheckSize(data->size(), transfer));
  return StartUpload(*data, transfer);
}

// The client's message, or its bytes in a block.
absl::Status StartRelayed(const grpc::ByteBuffer& message, Transfer& transfer) {
  HOLDFAST_ASSIGN_OR_RETURN(Relayed relayed,
                            ReadRelayed(transfer.memory().blocks(), message));
  if (const auto* whole = absl::get_if<grpc::ByteBuffer>(&relayed)) {
    return StartUpload(*whole, transfer);
  }
  return StartUpload(absl::get<grpc::Slice>(std::move(relayed)), transfer);
}

// The block is given back when gRPC has sent the bytes.
grpc::Slice SliceOf(Staging::BlockPtr block, uint64_t size) {
  char* const data = block->data();
  return grpc::Slice(
      data, size,
      [](void* owner) { delete static_cast<Staging::BlockPtr*>(owner); },
      new Staging::BlockPtr(std::move(block)));
}

absl::Status GivenUp() { return absl::CancelledError("given up"); }

// The messages of one download: what gRPC is to send from a block; if the
// daemon relays the call, the block's name, and the block is lent until the
// daemon has sent it.
class DownloadMessages {
 public:
  DownloadMessages(Transfer& transfer, ServedStream& call,
                   StallGuard& stall_guard)
      : transfer_(transfer), call_(call), stall_guard_(stall_guard) {
    if (IsRelayed(call)) lent_.emplace(transfer.memory().blocks());
  }
  // However the download ends, the daemon passes on what was sent, unless the
  // client has given up; and after the call's end it gives back nothing.
  ~DownloadMessages() {
    while (lent_.has_value() && !lent_->IsEmpty() && AwaitOldest()) {
    }
  }
  DownloadMessages(const DownloadMessages&) = delete;
  DownloadMessages& operator=(const DownloadMessages&) = delete;

  // As Transfer::NextBlock.
  absl::StatusOr<Staging::BlockPtr> NextBlock() {
    while (lent_.has_value() && !lent_->IsEmpty()) {
      HOLDFAST_ASSIGN_OR_RETURN(Staging::BlockPtr block,
                                transfer_.TryNextBlock());
      if (block != nullptr || transfer_.HasPieces()) return block;
      if (!AwaitOldest()) return GivenUp();
    }
    return transfer_.NextBlock();
  }

  // The next bytes. CANCELLED: the client has given up.
  absl::Status Send(Staging::BlockPtr block, uint64_t size) {
    if (lent_.has_value()) return Lend(std::move(block), size);
    const grpc::ByteBuffer message =
        MakeDownloadData(SliceOf(std::move(block), size));
    if (transfer_.rest() == 0 && !transfer_.HasPieces()) {
      call_.WriteLast(message);
      return absl::OkStatus();
    }
    return call_.Write(message) ? absl::OkStatus() : GivenUp();
  }

 private:
  absl::Status Lend(Staging::BlockPtr block, uint64_t size) {
    if (lent_->IsFull() && !AwaitOldest()) return GivenUp();
    const SharedBlocks::Block lent = transfer_.memory().Lend(*block, size);
    lent_->Add(lent, std::move(block));
    return call_.Write(RelayBlock(lent)) ? absl::OkStatus() : GivenUp();
  }
  // False: the client has given up.
  bool AwaitOldest() {
    const StallGuard::Watch watch(stall_guard_, call_.context());
    return lent_->AwaitOldest(call_.cancelled());
  }

  Transfer& transfer_;
  ServedStream& call_;
  StallGuard& stall_guard_;
  std::optional<SentBlocks> lent_;
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
  const bool relayed = IsRelayed(call);
  grpc::ByteBuffer message;
  UploadPart part;
  if (call.Read(&message)) {
    HOLDFAST_ASSIGN_OR_RETURN(part, relayed ? ReadHeader(blocks_, message)
                                            : ReadUploadRequest(message));
  }
  if (!absl::holds_alternative<v1::TransferRange>(part)) {
    return absl::InvalidArgumentError("an upload begins with its header");
  }
  const auto range = absl::get<v1::TransferRange>(std::move(part));
  HOLDFAST_ASSIGN_OR_RETURN(const auto transfer,
                            Transfer::Begin(Direction::kUpload, session_, range,
                                            blocks_, call.cancelled()));
  for (;;) {
    // Its client, or the daemon, may be waiting for these: time that does not
    // count for the stall guard.
    if (!call.Readable()) HOLDFAST_RETURN_IF_ERROR(transfer->FinishAll());
    if (!call.Read(&message)) break;
    HOLDFAST_RETURN_IF_ERROR(relayed ? StartRelayed(message, *transfer)
                                     : StartUpload(message, *transfer));
  }
  HOLDFAST_RETURN_IF_ERROR(transfer->FinishAll());
  if (transfer->rest() == 0) return range.size();
  return absl::InvalidArgumentError(
      absl::StrCat(range.size() - transfer->rest(), " bytes came, ",
                   range.size(), " were announced"));
}

absl::Status TransferService::SendAll(ServedStream& call,
                                      const v1::TransferRange& range) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto transfer,
                            Transfer::Begin(Direction::kDownload, session_,
                                            range, blocks_, call.cancelled()));
  DownloadMessages messages(*transfer, call, stall_guard_);
  while (transfer->rest() > 0 || transfer->HasPieces()) {
    if (transfer->rest() > 0) {
      HOLDFAST_ASSIGN_OR_RETURN(Staging::BlockPtr block, messages.NextBlock());
      if (block != nullptr) {
        transfer->StartDownload(
            std::move(block),
            std::min(transfer->max_piece(), transfer->rest()));
        continue;
      }
    }
    uint64_t size = 0;
    HOLDFAST_ASSIGN_OR_RETURN(Staging::BlockPtr block,
                              transfer->FinishOldest(&size));
    HOLDFAST_RETURN_IF_ERROR(messages.Send(std::move(block), size));
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
