// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RELAY_BLOCK_SENDER_H_
#define HOLDFAST_SERVER_RELAY_BLOCK_SENDER_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/functional/function_ref.h"
#include "server/relay/shared_blocks.h"

namespace holdfast {

// The bytes that one call sends in blocks. Used by one thread at a time.
class BlockSender {
 public:
  // One call's, of those that all calls of a session share.
  static constexpr size_t kMaxBlocks = 4;
  // Fewer bytes are sent as they are.
  static constexpr size_t kLeastBytes = size_t{64} << 10;

  explicit BlockSender(std::shared_ptr<SharedBlocks> blocks)
      : blocks_(std::move(blocks)) {}
  // Nobody reads any more: takes the blocks back.
  ~BlockSender();
  BlockSender(const BlockSender&) = delete;
  BlockSender& operator=(const BlockSender&) = delete;

  // The message to send in place of one with `size` bytes, which `write` puts
  // where they have to be. nullopt: it is to be sent as it is.
  std::optional<grpc::ByteBuffer> Send(size_t size,
                                       absl::FunctionRef<void(char*)> write);

  // Until the receiver has given back one, if the call has as many as it may.
  // False: the call is `cancelled`; nobody reads what was sent.
  bool AwaitRoom(const std::stop_token& cancelled);

  // The call has ended here, and the receiver may be reading still.
  void Leave();

 private:
  void DropReturned();

  const std::shared_ptr<SharedBlocks> blocks_;
  std::deque<SharedBlocks::Block> sent_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RELAY_BLOCK_SENDER_H_
