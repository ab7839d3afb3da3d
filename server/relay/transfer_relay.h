// SPDX-License-Identifier: Apache-2.0
//
// The daemon's part in a call with many bytes: what is a message to the client
// is one of relayed_message.h to the executor.
#ifndef HOLDFAST_SERVER_RELAY_TRANSFER_RELAY_H_
#define HOLDFAST_SERVER_RELAY_TRANSFER_RELAY_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <memory>
#include <stop_token>
#include <utility>

#include "absl/status/statusor.h"
#include "server/relay/sent_blocks.h"
#include "server/relay/shared_blocks.h"

namespace holdfast {

enum class RelayDirection { kUpload, kDownload };

// The client's messages of one upload. Used by one thread at a time.
class UploadRelay {
 public:
  // Fewer bytes are sent as they are.
  static constexpr size_t kLeastBytes = size_t{64} << 10;

  explicit UploadRelay(std::shared_ptr<SharedBlocks> blocks)
      : sent_(std::move(blocks)) {}

  // A message of the client, for the executor. One of kLeastBytes or more is
  // copied to a block, for which it may have to wait: until the executor has
  // done with another of the call's, or the call is `cancelled`. A call that
  // has none while all are taken waits for nobody.
  grpc::ByteBuffer Relay(const grpc::ByteBuffer& message,
                         const std::stop_token& cancelled);

 private:
  SentBlocks sent_;
};

// A message of the executor in a download, for the client. Its bytes stay
// where they are until gRPC has sent them. INVALID_ARGUMENT: it is none.
absl::StatusOr<grpc::ByteBuffer> RelayDownload(
    const std::shared_ptr<SharedBlocks>& blocks,
    const grpc::ByteBuffer& message);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RELAY_TRANSFER_RELAY_H_
