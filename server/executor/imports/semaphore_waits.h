// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_IMPORTS_SEMAPHORE_WAITS_H_
#define HOLDFAST_SERVER_EXECUTOR_IMPORTS_SEMAPHORE_WAITS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "core/cuda/event.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast::executor {

// The unfinished waits of the session's streams for semaphores. The session's
// usage lists them, so that a user can see why a stream does not continue.
// Thread-safe.
class SemaphoreWaits {
 public:
  static constexpr size_t kMaxPending = 4096;
  // The most waits that a usage report lists.
  static constexpr int kMaxReported = 64;

  // Checks whether another wait may begin. RESOURCE_EXHAUSTED: kMaxPending
  // waits are pending already.
  absl::Status CheckRoom();

  // Adds a wait of the stream for `value`. `passed` is an event that was
  // recorded in the stream right after the wait.
  void Add(uint64_t semaphore, uint64_t stream, uint64_t value,
           std::shared_ptr<const cuda::Event> passed);

  // Remove the waits that are over, by a query of their events. AnyPending
  // returns true if others are left. Report adds at most kMaxReported of them
  // to `usage`.
  bool AnyPending();
  void Report(v1::SessionUsage* usage);

 private:
  struct Wait {
    uint64_t semaphore = 0;
    uint64_t stream = 0;
    uint64_t value = 0;
    std::shared_ptr<const cuda::Event> passed;
  };
  void RemovePassed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  std::deque<Wait> waits_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_IMPORTS_SEMAPHORE_WAITS_H_
