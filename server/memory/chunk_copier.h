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

// A copy of all bytes of a chunk of device memory, from or to the beginning of
// a file.
struct ChunkCopy {
  uint32_t device = 0;
  uint64_t size = 0;  // bytes
  int file = -1;      // borrowed
  absl::Time deadline = absl::InfiniteFuture();
  // Called several times a second. Returns true to give the copy up
  // (CANCELLED).
  std::function<bool()> cancelled;
};

// Copies device memory that belongs to no session. The supervisor has no
// driver, so the copier is an executor process without a session. After an
// error the copier cannot be used again, and the bytes that it has copied are
// undefined. The end of its process frees no memory, since the supervisor holds
// the descriptors. Not thread-safe. The destructor ends the process.
class ChunkCopier {
 public:
  virtual ~ChunkCopier() = default;

  // `chunk` is a descriptor that may be mapped for reading; borrowed. Blocks.
  // UNAVAILABLE: the process has ended. DEADLINE_EXCEEDED: it has not copied in
  // time.
  virtual absl::Status SaveChunk(const ChunkCopy& copy, int chunk) = 0;

  // Makes a chunk with the file's bytes; returns its descriptor. Blocks. Errors
  // also as cuMemCreate: RESOURCE_EXHAUSTED.
  virtual absl::StatusOr<UniqueFd> LoadChunk(const ChunkCopy& copy) = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_MEMORY_CHUNK_COPIER_H_
