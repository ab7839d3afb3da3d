// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_MEMORY_CHUNK_COPIER_H_
#define HOLDFAST_SERVER_MEMORY_CHUNK_COPIER_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// The description of a copy of all bytes of a chunk of device memory, from or
// to the beginning of a file.
struct ChunkCopy {
  uint32_t device = 0;
  uint64_t size = 0;  // bytes
  int file = -1;      // borrowed
  absl::Time deadline = absl::InfiniteFuture();
  // Called several times a second. If it returns true, the copy is given up and
  // fails with CANCELLED.
  std::function<bool()> cancelled;
};

// Copies device memory that belongs to no session. The supervisor loads no
// driver, so the copier is an executor process without a session. Each call
// blocks until the bytes are copied. After an error the copier cannot be used
// again, and the bytes that it has copied are undefined. The destructor ends
// the process, which frees no memory, because the supervisor has the
// descriptors. Not thread-safe.
class ChunkCopier {
 public:
  virtual ~ChunkCopier() = default;

  // Copies a chunk to the file. `chunk` is a descriptor that may be mapped for
  // reading; it is borrowed. UNAVAILABLE: the process has ended.
  // DEADLINE_EXCEEDED: the deadline has passed. CANCELLED: `copy.cancelled`
  // returned true.
  virtual absl::Status SaveChunk(const ChunkCopy& copy, int chunk) = 0;

  // Makes a chunk with the file's bytes, and returns its descriptor. Fails as
  // SaveChunk. RESOURCE_EXHAUSTED: the device has too little memory.
  virtual absl::StatusOr<UniqueFd> LoadChunk(const ChunkCopy& copy) = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_MEMORY_CHUNK_COPIER_H_
