// SPDX-License-Identifier: Apache-2.0
#include "server/relay/transfer_relay.h"

#include <optional>
#include <utility>

#include "absl/types/variant.h"
#include "core/base/status_macros.h"
#include "proto/chunk.h"
#include "server/relay/relayed_message.h"

namespace holdfast {
namespace {

// nullopt: all are taken, and none by this call; or the call is cancelled.
std::optional<SharedBlocks::Block> TakeBlock(SentBlocks& sent, size_t size,
                                             const std::stop_token& cancelled) {
  for (;;) {
    if (!sent.IsFull()) {
      const auto block = sent.blocks().Take(size);
      if (block.has_value() || sent.IsEmpty()) return block;
    }
    if (!sent.AwaitOldest(cancelled)) return std::nullopt;
  }
}

}  // namespace

// A malformed message is passed on: the executor reports what is wrong.
grpc::ByteBuffer UploadRelay::Relay(const grpc::ByteBuffer& message,
                                    const std::stop_token& cancelled) {
  if (message.Length() < kLeastBytes) return RelayWhole(message);
  const auto part = ReadUploadRequest(message);
  const auto* data = part.ok() ? absl::get_if<ChunkData>(&*part) : nullptr;
  if (data == nullptr || data->size() > SharedBlocks::kBlockBytes) {
    return RelayWhole(message);
  }
  const auto block = TakeBlock(sent_, data->size(), cancelled);
  if (!block.has_value()) return RelayWhole(message);
  data->CopyTo(sent_.blocks().data(*block));
  sent_.blocks().NoteWritten(*block);
  sent_.Add(*block);
  return RelayBlock(*block);
}

absl::StatusOr<grpc::ByteBuffer> RelayDownload(
    const std::shared_ptr<SharedBlocks>& blocks,
    const grpc::ByteBuffer& message) {
  HOLDFAST_ASSIGN_OR_RETURN(Relayed relayed, ReadRelayed(blocks, message));
  if (auto* whole = absl::get_if<grpc::ByteBuffer>(&relayed)) {
    return std::move(*whole);
  }
  return MakeDownloadData(absl::get<grpc::Slice>(std::move(relayed)));
}

}  // namespace holdfast
