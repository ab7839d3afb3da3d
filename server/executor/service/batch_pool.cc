// SPDX-License-Identifier: Apache-2.0
#include "server/executor/service/batch_pool.h"

#include <utility>

namespace holdfast::executor {
namespace {

// A full batch of launches fits into the first block.
constexpr size_t kFirstBlock = size_t{512} << 10;
constexpr size_t kLargestBlock = size_t{256} << 10;

google::protobuf::ArenaOptions Options(char* block) {
  google::protobuf::ArenaOptions options;
  options.initial_block = block;
  options.initial_block_size = kFirstBlock;
  options.start_block_size = kLargestBlock;
  options.max_block_size = kLargestBlock;
  return options;
}

}  // namespace

DecodedBatch::DecodedBatch()
    : block_(new char[kFirstBlock]), arena_(Options(block_.get())) {
  Clear();
}

bool DecodedBatch::Decode(absl::string_view bytes) {
  received_ = bytes.size();
  if (!message_->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return false;
  }
  encoded_.Keep(bytes, *message_);
  return true;
}

bool DecodedBatch::Decode(google::protobuf::io::ZeroCopyInputStream& pieces,
                          size_t bytes) {
  received_ = bytes;
  return message_->ParseFromZeroCopyStream(&pieces);
}

// Strings are the only memory outside the arena, and none is longer than what
// came.
size_t DecodedBatch::bytes() const {
  return arena_.SpaceUsed() + received_ + encoded_.bytes();
}

void DecodedBatch::Clear() {
  received_ = 0;
  encoded_.Clear();
  arena_.Reset();
  message_ = google::protobuf::Arena::CreateMessage<v1::CommandBatch>(&arena_);
}

std::shared_ptr<DecodedBatch> BatchPool::Get() {
  std::unique_ptr<DecodedBatch> batch;
  {
    absl::MutexLock lock(&mutex_);
    if (!free_.empty()) {
      batch = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (batch == nullptr) batch = std::make_unique<DecodedBatch>();
  return std::shared_ptr<DecodedBatch>(
      batch.release(), [pool = shared_from_this()](DecodedBatch* returned) {
        pool->GiveBack(std::unique_ptr<DecodedBatch>(returned));
      });
}

void BatchPool::GiveBack(std::unique_ptr<DecodedBatch> batch) {
  batch->Clear();
  absl::MutexLock lock(&mutex_);
  if (free_.size() < kMaxFree) free_.push_back(std::move(batch));
}

}  // namespace holdfast::executor
