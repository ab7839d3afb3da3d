// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_FILLING_BATCH_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_FILLING_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/submission/command_batch.h"

namespace holdfast {

// The batch into which commands are encoded, and the numbers of the commands.
// Not thread-safe.
class FillingBatch {
 public:
  struct Limits {
    // The batch is full with this many commands or bytes.
    uint32_t commands = 0;
    size_t bytes = 0;
    size_t command_bytes = 0;  // of one command
  };

  // The next command has the number `last_sequence` + 1.
  FillingBatch(std::shared_ptr<CommandBatchPool> pool, Limits limits,
               uint64_t last_sequence)
      : pool_(std::move(pool)),
        limits_(limits),
        batch_(pool_->Get()),
        last_sequence_(last_sequence) {}

  // Appends a command as `write` encodes it with a WireWriter, as a field of
  // v1::CommandBatch, and returns the command's number. `*full`: the batch
  // should be sent. INVALID_ARGUMENT: the command is too long.
  template <typename Write>
  absl::StatusOr<uint64_t> Append(const Write& write, bool* full) {
    if (batch_->empty()) batch_->Begin(last_sequence_ + 1);
    const size_t before = batch_->bytes.size();
    write(batch_->bytes);
    const size_t bytes = batch_->bytes.size() - before;
    if (bytes > limits_.command_bytes) [[unlikely]]
      return Refuse(before, bytes);
    ++batch_->commands;
    *full = batch_->bytes.size() >= limits_.bytes ||
            batch_->commands >= limits_.commands;
    return ++last_sequence_;
  }

  bool empty() const { return batch_->empty(); }
  // REQUIRES: the batch is not empty.
  uint64_t first_sequence() const { return batch_->first_sequence; }
  // The number of the last command that was appended to any batch.
  uint64_t last_sequence() const { return last_sequence_; }

  // Returns the batch, which must go back to the pool, and begins another one.
  std::unique_ptr<CommandBatch> Take() {
    return std::exchange(batch_, pool_->Get());
  }
  // Drops the commands. Their numbers stay used.
  void Clear();

 private:
  // Removes the command that is too long, and returns its error.
  absl::Status Refuse(size_t before, size_t bytes);

  const std::shared_ptr<CommandBatchPool> pool_;
  const Limits limits_;
  std::unique_ptr<CommandBatch> batch_;
  uint64_t last_sequence_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_FILLING_BATCH_H_
