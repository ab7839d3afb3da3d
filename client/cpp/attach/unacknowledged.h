// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_ATTACH_UNACKNOWLEDGED_H_
#define HOLDFAST_CLIENT_CPP_ATTACH_UNACKNOWLEDGED_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// The batches of commands that may not have arrived at the executor, oldest
// first. ResumingRelay sends them again on a new connection. Not thread-safe.
class Unacknowledged {
 public:
  struct Batch {
    uint64_t first_sequence = 0;
    std::string bytes;  // a v1::CommandBatch
  };

  // Adds a batch. Returns false if `bytes` does not begin with a sequence
  // number, as a batch of command_batch.h does.
  bool Add(absl::string_view bytes);

  // Drops the batches up to this sequence number, which the executor has
  // received. A batch arrives as a whole or not at all.
  void Acknowledge(uint64_t sequence);

  const std::deque<Batch>& batches() const { return batches_; }
  size_t bytes() const { return bytes_; }

 private:
  std::deque<Batch> batches_;
  size_t bytes_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_ATTACH_UNACKNOWLEDGED_H_
