// SPDX-License-Identifier: Apache-2.0
//
// Copies of device memory that belongs to no session, for a version of a
// collection that is suspended or resumed. Carried out by an executor that has
// no session.
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

// Maps the chunk for reading and copies its bytes to the beginning of the file.
// `chunk` may be anything.
absl::Status SaveChunk(const std::shared_ptr<const cuda::Context>& context,
                       UniqueFd chunk, uint64_t size, int file);

// A chunk that was made for a file's bytes. Its memory lives on in copies of
// the descriptor.
class LoadedChunk {
 public:
  // RESOURCE_EXHAUSTED: the device has not so much memory. DATA_LOSS: the file
  // is shorter.
  static absl::StatusOr<LoadedChunk> Load(
      const std::shared_ptr<const cuda::Context>& context, uint64_t size,
      int file);

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
