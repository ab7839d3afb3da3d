// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/transfer_service.h"

#include <fcntl.h>
#include <grpcpp/support/method_handler.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "proto/chunk.h"
#include "server/executor/transfer/arena.h"
#include "server/executor/transfer/transfer.h"
#include "server/relay/block_sender.h"
#include "server/relay/relayed_message.h"
#include "server/rpc/metadata.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

using Direction = Transfer::Direction;

// How often a waiting call looks whether its client is still there.
constexpr absl::Duration kCancelPoll = absl::Milliseconds(50);

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
  DownloadMessages(const grpc::ServerContext& context,
                   std::shared_ptr<SharedBlocks> blocks)
      : context_(context) {
    if (blocks != nullptr) sender_.emplace(std::move(blocks));
  }
  // However the download ends, the daemon passes on what was sent, unless the
  // client is not there any more.
  ~DownloadMessages() {
    if (sender_.has_value() && !context_.IsCancelled()) sender_->Leave();
  }
  DownloadMessages(const DownloadMessages&) = delete;
  DownloadMessages& operator=(const DownloadMessages&) = delete;

  // CANCELLED: the client has given up.
  absl::StatusOr<grpc::ByteBuffer> Make(Staging::BlockPtr block,
                                        uint64_t size) {
    if (!sender_.has_value()) {
      return MakeDownloadData(SliceOf(std::move(block), size));
    }
    while (!sender_->AwaitRoom(kCancelPoll)) {
      if (context_.IsCancelled()) return GiveUp();
    }
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
  const grpc::ServerContext& context_;
  std::optional<BlockSender> sender_;
};

// Waits for arenas that were freed and that a device still uses, if there is
// room for another only without them. CANCELLED: the client has given up.
absl::Status AwaitRoom(const grpc::ServerContext& context, uint64_t size,
                       Quota& quota) {
  while (!quota.AwaitSettled(size, kCancelPoll)) {
    if (context.IsCancelled()) return absl::CancelledError("given up");
  }
  return absl::OkStatus();
}

// Page-locking takes long, so it does not happen on the submission thread.
absl::Status MakeArena(Session& session, const grpc::ServerContext& call,
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
  HOLDFAST_RETURN_IF_ERROR(AwaitRoom(call, request.size(), *quota));
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
  using Self = TransferService;
  AddMethod(new RpcServiceMethod(
      "/holdfast.v1.TransferService/Upload", RpcMethod::CLIENT_STREAMING,
      new grpc::internal::ClientStreamingHandler<Self, Chunk,
                                                 v1::UploadResponse>(
          std::mem_fn(&Self::Upload), this)));
  AddMethod(new RpcServiceMethod(
      "/holdfast.v1.TransferService/Download", RpcMethod::SERVER_STREAMING,
      new grpc::internal::ServerStreamingHandler<Self, v1::DownloadRequest,
                                                 Chunk>(
          std::mem_fn(&Self::Download), this)));
  AddMethod(new RpcServiceMethod(
      "/holdfast.v1.TransferService/RegisterArena", RpcMethod::NORMAL_RPC,
      new grpc::internal::RpcMethodHandler<Self, v1::RegisterArenaRequest,
                                           v1::RegisterArenaResponse>(
          std::mem_fn(&Self::RegisterArena), this)));
}

std::shared_ptr<void> TransferService::Count() {
  ++transfers_;
  return std::shared_ptr<void>(nullptr, [this](void*) { --transfers_; });
}

absl::StatusOr<SessionGate::Pass> TransferService::Admit(
    const grpc::ServerContext& context) const {
  HOLDFAST_RETURN_IF_ERROR(session_.Authenticate(context));
  if (transfers_ <= kMaxTransfers) return session_.gate().Enter();
  return absl::ResourceExhaustedError(absl::StrCat(
      "more than ", kMaxTransfers, " transfers of one session at a time"));
}

std::shared_ptr<SharedBlocks> TransferService::BlocksOf(
    const grpc::ServerContext& context) const {
  return FindMetadata(context, kRelayedKey).has_value() ? blocks_ : nullptr;
}

bool TransferService::Receive(grpc::ServerContext& context,
                              grpc::ServerReader<Chunk>& reader,
                              Chunk* message) {
  const StallGuard::Watch watch(stall_guard_, context);
  return reader.Read(message);
}

absl::StatusOr<uint64_t> TransferService::ReceiveAll(
    grpc::ServerContext& context, grpc::ServerReader<Chunk>& reader) {
  const auto blocks = BlocksOf(context);
  Chunk message;
  UploadPart part;
  if (Receive(context, reader, &message)) {
    HOLDFAST_ASSIGN_OR_RETURN(part, Read(blocks, message));
  }
  if (!absl::holds_alternative<v1::TransferRange>(part)) {
    return absl::InvalidArgumentError("an upload begins with its header");
  }
  const auto range = absl::get<v1::TransferRange>(std::move(part));
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto transfer,
      Transfer::Begin(Direction::kUpload, session_, range, context));
  while (Receive(context, reader, &message)) {
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

absl::Status TransferService::SendAll(grpc::ServerContext& context,
                                      const v1::TransferRange& range,
                                      grpc::ServerWriter<Chunk>& writer) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto transfer,
      Transfer::Begin(Direction::kDownload, session_, range, context));
  DownloadMessages messages(context, BlocksOf(context));
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
    HOLDFAST_ASSIGN_OR_RETURN(const Chunk message,
                              messages.Make(std::move(block), size));
    const StallGuard::Watch watch(stall_guard_, context);
    if (!writer.Write(message)) return messages.GiveUp();
  }
  return absl::OkStatus();
}

grpc::Status TransferService::Upload(grpc::ServerContext* context,
                                     grpc::ServerReader<Chunk>* reader,
                                     v1::UploadResponse* response) {
  const auto count = Count();
  const auto pass = Admit(*context);
  if (!pass.ok()) return ToGrpcStatus(pass.status());
  const auto entered = tries_.Enter(*context);
  if (!entered.ok()) return ToGrpcStatus(entered.status());
  const auto size = ReceiveAll(*context, *reader);
  if (size.ok()) {
    response->set_size(*size);
    response->set_path(v1::COPY_PATH_STREAM);
  }
  return ToGrpcStatus(size.status());
}

grpc::Status TransferService::Download(grpc::ServerContext* context,
                                       const v1::DownloadRequest* request,
                                       grpc::ServerWriter<Chunk>* writer) {
  const auto count = Count();
  const auto pass = Admit(*context);
  absl::Status status = pass.status();
  if (status.ok()) status = SendAll(*context, request->range(), *writer);
  return ToGrpcStatus(status);
}

grpc::Status TransferService::RegisterArena(
    grpc::ServerContext* context, const v1::RegisterArenaRequest* request,
    v1::RegisterArenaResponse* response) {
  const auto pass = Admit(*context);
  absl::Status status = pass.status();
  if (status.ok()) {
    auto descriptor = inbox_.Claim(request->descriptor_token());
    status = descriptor.ok() ? MakeArena(session_, *context, *request,
                                         *std::move(descriptor))
                             : descriptor.status();
  }
  return ToGrpcStatus(status);
}

}  // namespace holdfast::executor
