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

// Spans of arenas for cuMemHostAlloc. A session has few arenas, and to make one
// takes milliseconds: small spans share one of 16 MiB, which ends with the last
// of them. Thread-safe.
class PinnedMemory {
 public:
  explicit PinnedMemory(Session& session) : session_(session) {}

  // FAILED_PRECONDITION: the daemon is on another machine.
  absl::StatusOr<ArenaSpan> Allocate(uint64_t size);

 private:
  Session& session_;
  absl::Mutex mutex_;
  std::vector<std::weak_ptr<Arena>> arenas_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_PINNED_MEMORY_H_
