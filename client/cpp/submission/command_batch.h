// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_COMMAND_BATCH_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_COMMAND_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/submission/wire_writer.h"
#include "grpcpp/support/byte_buffer.h"

namespace holdfast {

class CommandBatchPool;

// A v1::CommandBatch in its wire format. CommandQueue adds one command after
// the other, and sends the whole batch. Not thread-safe.
struct CommandBatch {
  // The batch grows beyond `capacity` if a command is larger.
  explicit CommandBatch(size_t capacity) : bytes(capacity) {}

  bool empty() const { return commands == 0; }
  // Writes the batch's head. `sequence` is the number of its first command.
  void Begin(uint64_t sequence);
  // The present bytes. Valid until the batch changes.
  absl::string_view view() const { return {bytes.data(), bytes.size()}; }

  WireWriter bytes;
  uint64_t first_sequence = 0;
  uint32_t commands = 0;
  std::shared_ptr<CommandBatchPool> pool;  // set while gRPC has the batch
};

// A pool of batches, which saves the cost of fresh pages. Thread-safe. Batches
// that gRPC holds keep the pool alive beyond the queue.
class CommandBatchPool : public std::enable_shared_from_this<CommandBatchPool> {
 public:
  // Batches get a quarter more than `batch_bytes`, so that the command that
  // fills a batch still fits.
  explicit CommandBatchPool(size_t batch_bytes)
      : capacity_(batch_bytes + batch_bytes / 4) {}

  // Returns an empty batch, with new or reused memory.
  std::unique_ptr<CommandBatch> Get();
  // Gives a batch back to the pool. The pool keeps at most eight batches, and
  // no batch that had to grow.
  void GiveBack(std::unique_ptr<CommandBatch> batch);

  // Converts a batch to bytes for gRPC. The batch goes back to the pool when
  // gRPC has sent the bytes.
  grpc::ByteBuffer ToBytes(std::unique_ptr<CommandBatch> batch);

 private:
  static constexpr size_t kMaxFree = 8;

  const size_t capacity_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<CommandBatch>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_COMMAND_BATCH_H_
