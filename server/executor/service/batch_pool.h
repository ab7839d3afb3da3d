// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SERVICE_BATCH_POOL_H_
#define HOLDFAST_SERVER_EXECUTOR_SERVICE_BATCH_POOL_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "google/protobuf/arena.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast::executor {

// A batch of commands in memory of its own, where it is decoded without an
// allocation for each command.
class DecodedBatch {
 public:
  DecodedBatch();
  DecodedBatch(const DecodedBatch&) = delete;
  DecodedBatch& operator=(const DecodedBatch&) = delete;

  v1::CommandBatch& message() { return *message_; }
  // Bytes that the commands take: the objects, and the memory that they hold.
  size_t bytes() const { return arena_.SpaceUsed() + message_->ByteSizeLong(); }
  void Clear();

 private:
  const std::unique_ptr<char[]> block_;
  google::protobuf::Arena arena_;
  v1::CommandBatch* message_ = nullptr;
};

// Decoded batches that are used again. Thread-safe.
class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  // An empty batch, which comes back when nobody holds it any more.
  std::shared_ptr<DecodedBatch> Get();

 private:
  // Batches that an idle session keeps.
  static constexpr size_t kMaxFree = 8;

  void GiveBack(std::unique_ptr<DecodedBatch> batch);

  absl::Mutex mutex_;
  std::vector<std::unique_ptr<DecodedBatch>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SERVICE_BATCH_POOL_H_
