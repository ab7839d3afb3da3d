// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_SHARED_ARENAS_H_
#define HOLDFAST_CLIENT_CUDA_SHARED_ARENAS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/session.h"
#include "client/cpp/transfer/arena.h"
#include "core/base/unique_fd.h"

namespace holdfast::libcuda {

// Names a span of an arena for other processes of the user, which find its
// memory below /proc while the process that made it keeps the span.
struct ArenaReference {
  int32_t process = 0;
  int32_t descriptor = 0;  // of the arena's memfd in that process
  uint64_t offset = 0;     // bytes in the memfd
  uint64_t size = 0;       // bytes
};

// The memory of a pool of pinned memory that processes share: arenas over
// memfds, which each process's session maps. One object either allocates
// spans or opens the spans of another process. Thread-safe.
class SharedArenas {
 public:
  explicit SharedArenas(Session& session) : session_(session) {}

  // FAILED_PRECONDITION: the daemon is on another machine.
  absl::StatusOr<ArenaSpan> Allocate(uint64_t size);
  // REQUIRES: `span` is from Allocate.
  ArenaReference Reference(const ArenaSpan& span) const;

  // Returns the same bytes as the span that `reference` names. Opening spans of
  // one arena maps it once.
  // PERMISSION_DENIED: this process may not open the memory, or the reference
  // names none. FAILED_PRECONDITION: as Allocate.
  absl::StatusOr<ArenaSpan> Open(const ArenaReference& reference);

 private:
  // The memory stays open as long as the arena may be referred to.
  struct Part {
    UniqueFd memory;
    ino_t inode = 0;
    std::weak_ptr<Arena> arena;
  };

  void ForgetEnded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::shared_ptr<Arena>> Add(UniqueFd memory, uint64_t size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Session& session_;
  mutable absl::Mutex mutex_;
  std::vector<Part> parts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_SHARED_ARENAS_H_
