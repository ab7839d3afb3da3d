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

// Allocates the memory of cuMemHostAlloc as spans of arenas. A session can have
// few arenas, and making one takes milliseconds, so small spans share arenas of
// 16 MiB. An arena ends with its last span. Thread-safe.
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
