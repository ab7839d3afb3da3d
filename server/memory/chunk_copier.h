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
  // Asked several times a second: the copy is given up (CANCELLED).
  std::function<bool()> cancelled;
};

// Copies device memory that belongs to no session: an executor without one,
// since the supervisor has no driver. After an error the copier is of no more
// use, and what it has copied is undefined; its end loses nothing that others
// hold. Not thread-safe. The destructor ends the process.
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
