// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SERVICE_BATCH_POOL_H_
#define HOLDFAST_SERVER_EXECUTOR_SERVICE_BATCH_POOL_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "holdfast/v1/commands.pb.h"
#include "server/executor/command/encoded_commands.h"

namespace holdfast::executor {

// A batch of commands with its own memory, into which it is decoded without an
// allocation for each command.
class DecodedBatch {
 public:
  DecodedBatch();
  DecodedBatch(const DecodedBatch&) = delete;
  DecodedBatch& operator=(const DecodedBatch&) = delete;

  // Decodes a batch. Returns false if the bytes are not a batch. The overload
  // for `pieces`, which have `bytes` bytes in sum, keeps no encoded commands.
  // REQUIRES: the object is empty.
  bool Decode(absl::string_view bytes);
  bool Decode(google::protobuf::io::ZeroCopyInputStream& pieces, size_t bytes);

  v1::CommandBatch& message() { return *message_; }
  const EncodedCommands& encoded() const { return encoded_; }
  // Returns the approximate size of the batch in memory, in bytes: the decoded
  // commands and the kept encoded commands.
  size_t bytes() const;
  // Makes the object empty.
  void Clear();

 private:
  const std::unique_ptr<char[]> block_;
  google::protobuf::Arena arena_;
  v1::CommandBatch* message_ = nullptr;
  EncodedCommands encoded_;
  size_t received_ = 0;  // bytes
};

// A pool of DecodedBatch objects. Thread-safe.
class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  // Returns an empty batch. The end of its last owner gives it back to the
  // pool.
  std::shared_ptr<DecodedBatch> Get();

 private:
  // The most batches in the pool.
  static constexpr size_t kMaxFree = 8;

  void GiveBack(std::unique_ptr<DecodedBatch> batch);

  absl::Mutex mutex_;
  std::vector<std::unique_ptr<DecodedBatch>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SERVICE_BATCH_POOL_H_
