// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/stream_transfer.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "core/base/status_macros.h"
#include "proto/chunk.h"
#include "proto/protocol_limits.h"
#include "server/executor/memory/staging.h"
#include "server/executor/transfer/transfer.h"

namespace holdfast::executor {
namespace {

using Direction = Transfer::Direction;

absl::Status GivenUp() { return absl::CancelledError("given up"); }

// A transfer with blocks of the session's staging.
struct StagedTransfer {
  std::unique_ptr<Transfer> transfer;
  std::shared_ptr<Staging> staging;
};

absl::StatusOr<StagedTransfer> Begin(Direction direction, ServedStream& call,
                                     Session& session,
                                     const v1::TransferRange& range) {
  HOLDFAST_ASSIGN_OR_RETURN(
      auto transfer,
      Transfer::Begin(direction, session, range, call.cancelled()));
  absl::StatusOr<std::shared_ptr<Staging>> staging =
      absl::UnavailableError("the session is being closed");
  (void)session.Run(
      [&](Resources& resources) { staging = resources.TransferStaging(); });
  HOLDFAST_RETURN_IF_ERROR(staging.status());
  return StagedTransfer{std::move(transfer), *std::move(staging)};
}

// Returns a block for the next piece; nullptr: a piece that was started has to
// be finished first. While more than three quarters of the blocks are free, a
// transfer takes as many as it can. After that it takes one block at a time,
// and waits until the client has taken the message before: a client that does
// not read gets no further blocks.
absl::StatusOr<Staging::BlockPtr> NextBlock(StagedTransfer& staged,
                                            ServedStream& call) {
  if (!staged.transfer->MayStart()) return nullptr;
  constexpr size_t kForOthers = Resources::kTransferBlocks / 4 * 3;
  HOLDFAST_ASSIGN_OR_RETURN(Staging::BlockPtr block,
                            staged.staging->TryAcquire(kForOthers));
  if (block != nullptr || staged.transfer->pieces() > 0) return block;
  if (!call.AwaitWritten()) return GivenUp();
  HOLDFAST_ASSIGN_OR_RETURN(block, staged.staging->Acquire(call.cancelled()));
  if (block == nullptr) return GivenUp();
  return block;
}

absl::Status StartUpload(const ChunkData& data, StagedTransfer& staged,
                         ServedStream& call) {
  if (data.size() == 0) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(Staging::BlockPtr block, NextBlock(staged, call));
  while (block == nullptr) {
    HOLDFAST_RETURN_IF_ERROR(staged.transfer->FinishOldest());
    HOLDFAST_ASSIGN_OR_RETURN(block, NextBlock(staged, call));
  }
  data.CopyTo(block->data());
  const CUdeviceptr bytes = block->device_address();
  return staged.transfer->Start(bytes, data.size(), std::move(block));
}

// A block of a download that the device fills.
struct Piece {
  Staging::BlockPtr block;
  uint64_t size = 0;
};

// The block is given back when gRPC has sent the bytes.
grpc::ByteBuffer MessageOf(Piece piece) {
  char* const data = piece.block->data();
  return MakeDownloadData(grpc::Slice(
      data, piece.size,
      [](void* owner) { delete static_cast<Staging::BlockPtr*>(owner); },
      new Staging::BlockPtr(std::move(piece.block))));
}

// Starts pieces until one has to be finished first.
absl::Status StartDownloads(StagedTransfer& staged, ServedStream& call,
                            std::deque<Piece>* pieces) {
  Transfer& transfer = *staged.transfer;
  while (transfer.rest() > 0) {
    HOLDFAST_ASSIGN_OR_RETURN(Staging::BlockPtr block, NextBlock(staged, call));
    if (block == nullptr) break;
    const uint64_t size = std::min<uint64_t>(kMaxChunkBytes, transfer.rest());
    HOLDFAST_RETURN_IF_ERROR(
        transfer.Start(block->device_address(), size, block));
    pieces->push_back({std::move(block), size});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<uint64_t> ReceiveUpload(ServedStream& call, Session& session) {
  grpc::ByteBuffer message;
  call.Read(&message);
  HOLDFAST_ASSIGN_OR_RETURN(const v1::TransferRange range,
                            ReadUploadHeader(message));
  HOLDFAST_ASSIGN_OR_RETURN(StagedTransfer staged,
                            Begin(Direction::kUpload, call, session, range));
  Transfer& transfer = *staged.transfer;
  for (;;) {
    // The client may be waiting for these: time that does not count for the
    // stall guard.
    if (!call.Readable()) HOLDFAST_RETURN_IF_ERROR(transfer.FinishAll());
    if (!call.Read(&message)) break;
    HOLDFAST_ASSIGN_OR_RETURN(const ChunkData data, ReadUploadData(message));
    HOLDFAST_RETURN_IF_ERROR(StartUpload(data, staged, call));
  }
  return transfer.FinishUpload();
}

absl::Status SendDownload(ServedStream& call, Session& session) {
  grpc::ByteBuffer request;
  if (!call.Read(&request)) {
    return absl::InvalidArgumentError(
        "a download begins with a DownloadRequest");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const v1::TransferRange range,
                            ReadDownloadRequest(request));
  HOLDFAST_ASSIGN_OR_RETURN(StagedTransfer staged,
                            Begin(Direction::kDownload, call, session, range));
  Transfer& transfer = *staged.transfer;
  std::deque<Piece> pieces;
  for (;;) {
    HOLDFAST_RETURN_IF_ERROR(StartDownloads(staged, call, &pieces));
    if (pieces.empty()) return absl::OkStatus();
    HOLDFAST_RETURN_IF_ERROR(transfer.FinishOldest());
    grpc::ByteBuffer message = MessageOf(std::move(pieces.front()));
    pieces.pop_front();
    if (transfer.rest() == 0 && pieces.empty()) {
      call.WriteLast(message);
    } else if (!call.Write(message)) {
      return GivenUp();
    }
  }
}

}  // namespace holdfast::executor
