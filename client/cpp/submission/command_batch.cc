// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/command_batch.h"

#include <utility>

#include "grpcpp/support/slice.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast {

void CommandBatch::Begin(uint64_t sequence) {
  first_sequence = sequence;
  bytes.Write(v1::fields::CommandBatch::kFirstSequence, sequence);
}

std::unique_ptr<CommandBatch> CommandBatchPool::Get() {
  absl::MutexLock lock(&mutex_);
  if (free_.empty()) return std::make_unique<CommandBatch>(capacity_);
  std::unique_ptr<CommandBatch> batch = std::move(free_.back());
  free_.pop_back();
  return batch;
}

void CommandBatchPool::GiveBack(std::unique_ptr<CommandBatch> batch) {
  if (batch->bytes.capacity() > capacity_) return;  // Had a large command.
  batch->bytes.Truncate(0);
  batch->commands = 0;
  absl::MutexLock lock(&mutex_);
  if (free_.size() < kMaxFree) free_.push_back(std::move(batch));
}

grpc::ByteBuffer CommandBatchPool::ToBytes(
    std::unique_ptr<CommandBatch> batch) {
  batch->pool = shared_from_this();
  CommandBatch* const released = batch.release();
  const grpc::Slice slice(
      released->bytes.data(), released->bytes.size(),
      [](void* sent) {
        std::unique_ptr<CommandBatch> back(static_cast<CommandBatch*>(sent));
        const std::shared_ptr<CommandBatchPool> pool = std::move(back->pool);
        pool->GiveBack(std::move(back));
      },
      released);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace holdfast
