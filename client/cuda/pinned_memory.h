// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_PINNED_MEMORY_H_
#define HOLDFAST_CLIENT_CUDA_PINNED_MEMORY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/session.h"
#include "client/cpp/transfer/arena.h"

namespace holdfast::libcuda {

// Names a span of an arena for other processes of the same user. They open the
// arena's memory below /proc, as long as the exporting process keeps the span.
struct ArenaReference {
  int32_t process = 0;
  int32_t descriptor = 0;  // of the arena's memfd in that process
  uint64_t offset = 0;     // bytes in the memfd
  uint64_t size = 0;       // bytes
};

// Allocates pinned memory as spans of arenas. A session can have few arenas,
// and making one takes milliseconds, so small spans share arenas of 16 MiB. An
// arena ends with its last span. The memory of each arena is a memfd, which
// another process's session can map, too. A process that opens one span can
// read the whole arena, so each shared pool has a PinnedMemory of its own.
// Thread-safe.
class PinnedMemory {
 public:
  explicit PinnedMemory(Session& session) : session_(session) {}

  // Returns a span of `size` bytes. FAILED_PRECONDITION: the daemon is on
  // another machine.
  absl::StatusOr<ArenaSpan> Allocate(uint64_t size);
  // Returns a reference to the span, for other processes. REQUIRES: `span` is
  // from Allocate.
  static ArenaReference Reference(const ArenaSpan& span);

  // Returns the bytes of another process's span. The first span of an arena
  // maps the arena. PERMISSION_DENIED: this process cannot open the memory, or
  // the memory does not belong to an arena. OUT_OF_RANGE: the span is empty or
  // outside of the arena. FAILED_PRECONDITION: as Allocate.
  absl::StatusOr<ArenaSpan> Open(const ArenaReference& reference);

 private:
  // The arenas that have not ended.
  std::vector<std::shared_ptr<Arena>> Living()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Session& session_;
  absl::Mutex mutex_;
  std::vector<std::weak_ptr<Arena>> arenas_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_PINNED_MEMORY_H_
