// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RELAY_TRANSFER_RELAY_H_
#define HOLDFAST_SERVER_RELAY_TRANSFER_RELAY_H_

#include <grpcpp/support/byte_buffer.h>

#include <memory>

#include "absl/status/statusor.h"
#include "server/relay/block_sender.h"
#include "server/relay/shared_blocks.h"

namespace holdfast {

// The daemon's part in one call with many bytes: what is a message to the
// client is one of relayed_message.h to the executor.
class TransferRelay {
 public:
  enum class Direction { kUpload, kDownload };

  TransferRelay(Direction direction, std::shared_ptr<SharedBlocks> blocks)
      : direction_(direction), blocks_(blocks), sender_(std::move(blocks)) {}

  // A message of the client, for the executor.
  grpc::ByteBuffer Up(const grpc::ByteBuffer& message);

  // A message of the executor, for the client. INVALID_ARGUMENT: it is none.
  absl::StatusOr<grpc::ByteBuffer> Down(const grpc::ByteBuffer& message);

 private:
  const Direction direction_;
  const std::shared_ptr<SharedBlocks> blocks_;
  BlockSender sender_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RELAY_TRANSFER_RELAY_H_
