// SPDX-License-Identifier: Apache-2.0
#include "server/relay/block_sender.h"

#include "server/relay/relayed_message.h"

namespace holdfast {

BlockSender::~BlockSender() {
  for (const SharedBlocks::Block& block : sent_) blocks_->GiveBack(block);
}

std::optional<grpc::ByteBuffer> BlockSender::Send(
    size_t size, absl::FunctionRef<void(char*)> write) {
  DropReturned();
  if (size < kLeastBytes || sent_.size() >= kMaxBlocks) return std::nullopt;
  const auto block = blocks_->Take(size);
  if (!block.has_value()) return std::nullopt;
  sent_.push_back(*block);
  write(blocks_->data(*block));
  blocks_->NoteWritten(*block);
  return RelayBlock(*block);
}

bool BlockSender::AwaitRoom(const std::stop_token& cancelled) {
  DropReturned();
  if (sent_.size() < kMaxBlocks) return true;
  const SharedBlocks::Block oldest = sent_.front();
  const std::stop_callback take_back(cancelled,
                                     [&] { blocks_->GiveBack(oldest); });
  blocks_->AwaitReturn(oldest);
  return !cancelled.stop_requested();
}

void BlockSender::Leave() {
  DropReturned();
  for (const SharedBlocks::Block& block : sent_) blocks_->Abandon(block);
  sent_.clear();
}

void BlockSender::DropReturned() {
  while (!sent_.empty() && !blocks_->IsTaken(sent_.front())) sent_.pop_front();
}

}  // namespace holdfast
