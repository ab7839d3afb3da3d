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

// A v1::CommandBatch as it goes over the wire. Filled by CommandQueue, one
// command after the other, and sent whole.
struct CommandBatch {
  // It grows if one command is larger.
  explicit CommandBatch(size_t capacity) : bytes(capacity) {}

  bool empty() const { return commands == 0; }
  // Writes the batch's head. `sequence` is that of its first command.
  void Begin(uint64_t sequence);
  // The batch as it stands. Valid until it changes.
  absl::string_view view() const { return {bytes.data(), bytes.size()}; }

  WireWriter bytes;
  uint64_t first_sequence = 0;
  uint32_t commands = 0;
  std::shared_ptr<CommandBatchPool> pool;  // while gRPC has it
};

// Batches whose memory is used again, since fresh pages are dear. Thread-safe;
// outlives the queue by the batches that gRPC still holds.
class CommandBatchPool : public std::enable_shared_from_this<CommandBatchPool> {
 public:
  // Batches get a quarter more than `batch_bytes`, so that the command that
  // fills one still fits.
  explicit CommandBatchPool(size_t batch_bytes)
      : capacity_(batch_bytes + batch_bytes / 4) {}

  // An empty batch; its memory may have been used before.
  std::unique_ptr<CommandBatch> Get();
  // Keeps eight at most, and none that had to grow.
  void GiveBack(std::unique_ptr<CommandBatch> batch);

  // The batch as gRPC sends it; its memory comes back when it is sent.
  grpc::ByteBuffer ToBytes(std::unique_ptr<CommandBatch> batch);

 private:
  static constexpr size_t kMaxFree = 8;

  const size_t capacity_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<CommandBatch>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_COMMAND_BATCH_H_
