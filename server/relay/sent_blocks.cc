// SPDX-License-Identifier: Apache-2.0
#include "server/relay/sent_blocks.h"

namespace holdfast {

SentBlocks::~SentBlocks() {
  for (const Sent& sent : sent_) blocks_->GiveBack(sent.block);
}

void SentBlocks::Add(const SharedBlocks::Block& block,
                     std::shared_ptr<const void> memory) {
  sent_.push_back({block, std::move(memory)});
}

bool SentBlocks::IsFull() {
  DropReturned();
  return sent_.size() >= kMaxBlocks;
}

bool SentBlocks::IsEmpty() {
  DropReturned();
  return sent_.empty();
}

bool SentBlocks::AwaitOldest(const std::stop_token& cancelled) {
  const SharedBlocks::Block oldest = sent_.front().block;
  const std::stop_callback take_back(cancelled,
                                     [&] { blocks_->GiveBack(oldest); });
  blocks_->AwaitReturn(oldest, cancelled);
  return !cancelled.stop_requested();
}

void SentBlocks::DropReturned() {
  while (!sent_.empty() && !blocks_->IsTaken(sent_.front().block)) {
    sent_.pop_front();
  }
}

}  // namespace holdfast
