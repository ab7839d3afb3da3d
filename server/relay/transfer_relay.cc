// SPDX-License-Identifier: Apache-2.0
#include "server/relay/transfer_relay.h"

#include <utility>

#include "absl/types/variant.h"
#include "core/base/status_macros.h"
#include "proto/chunk.h"
#include "server/relay/relayed_message.h"

namespace holdfast {

// A malformed message is passed on: the executor reports what is wrong.
grpc::ByteBuffer TransferRelay::Up(const grpc::ByteBuffer& message) {
  if (direction_ != Direction::kUpload) return message;
  if (message.Length() >= BlockSender::kLeastBytes) {
    const auto part = ReadUploadRequest(message);
    const auto* data = part.ok() ? absl::get_if<ChunkData>(&*part) : nullptr;
    if (data != nullptr) {
      auto sent = sender_.Send(data->size(),
                               [data](char* block) { data->CopyTo(block); });
      if (sent.has_value()) return *std::move(sent);
    }
  }
  return RelayWhole(message);
}

absl::StatusOr<grpc::ByteBuffer> TransferRelay::Down(
    const grpc::ByteBuffer& message) {
  if (direction_ != Direction::kDownload) return message;
  HOLDFAST_ASSIGN_OR_RETURN(Relayed relayed, ReadRelayed(blocks_, message));
  if (auto* whole = absl::get_if<grpc::ByteBuffer>(&relayed)) {
    return std::move(*whole);
  }
  return MakeDownloadData(absl::get<grpc::Slice>(std::move(relayed)));
}

}  // namespace holdfast
