// SPDX-License-Identifier: Apache-2.0
//
// Copies device memory of collections to files and back, when a version of a
// collection is suspended or resumed. The memory belongs to no session. An
// executor without a session makes the copies.
#ifndef HOLDFAST_SERVER_EXECUTOR_MEMORY_CHUNK_COPY_H_
#define HOLDFAST_SERVER_EXECUTOR_MEMORY_CHUNK_COPY_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "core/cuda/context.h"
#include "core/memory/address_range.h"
#include "core/memory/chunk.h"

namespace holdfast::executor {

// Maps `chunk` for reading, and copies its first `size` bytes to the beginning
// of `file`, which is borrowed. Blocks until the bytes are copied. `chunk` is
// untrusted: an error is returned if it is not a chunk of this size.
absl::Status SaveChunk(const std::shared_ptr<const cuda::Context>& context,
                       UniqueFd chunk, uint64_t size, int file);

// A new chunk with the bytes of a file. Duplicates of the descriptor keep the
// memory alive after this object has ended.
class LoadedChunk {
 public:
  // Copies the first `size` bytes of `file`, which is borrowed, to a new chunk,
  // and blocks until they are copied. RESOURCE_EXHAUSTED: the device has too
  // little memory. DATA_LOSS: the file is shorter.
  static absl::StatusOr<LoadedChunk> Load(
      const std::shared_ptr<const cuda::Context>& context, uint64_t size,
      int file);

  // Returns the chunk's descriptor, which this object closes.
  int descriptor() const { return chunk_->descriptor(); }

 private:
  LoadedChunk(std::unique_ptr<memory::AddressRange> range,
              std::unique_ptr<memory::Chunk> chunk)
      : range_(std::move(range)), chunk_(std::move(chunk)) {}

  std::unique_ptr<memory::AddressRange> range_;
  std::unique_ptr<memory::Chunk> chunk_;  // ends before the range
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_MEMORY_CHUNK_COPY_H_
