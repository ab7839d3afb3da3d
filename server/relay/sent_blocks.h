// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RELAY_SENT_BLOCKS_H_
#define HOLDFAST_SERVER_RELAY_SENT_BLOCKS_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <stop_token>
#include <utility>

#include "server/relay/shared_blocks.h"

namespace holdfast {

// The blocks of one call that the other end has been told of and has not given
// back. Used by one thread at a time.
class SentBlocks {
 public:
  // One call's, of those that all calls of a session share.
  static constexpr size_t kMaxBlocks = 4;

  explicit SentBlocks(std::shared_ptr<SharedBlocks> blocks)
      : blocks_(std::move(blocks)) {}
  // Nobody reads any more: takes them back.
  ~SentBlocks();
  SentBlocks(const SentBlocks&) = delete;
  SentBlocks& operator=(const SentBlocks&) = delete;

  SharedBlocks& blocks() const { return *blocks_; }

  // `memory`, which may be null, is dropped once the block has been given back.
  void Add(const SharedBlocks::Block& block,
           std::shared_ptr<const void> memory = nullptr);

  // Has the call as many as it may? Drops those that have been given back.
  bool IsFull();
  bool IsEmpty();

  // Blocks until the oldest has been given back. False: the call is
  // `cancelled`, and the block was taken back. REQUIRES: there is one.
  bool AwaitOldest(const std::stop_token& cancelled);

 private:
  struct Sent {
    SharedBlocks::Block block;
    std::shared_ptr<const void> memory;
  };

  void DropReturned();

  const std::shared_ptr<SharedBlocks> blocks_;
  std::deque<Sent> sent_;  // oldest first
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RELAY_SENT_BLOCKS_H_
