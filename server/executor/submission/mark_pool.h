// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SUBMISSION_MARK_POOL_H_
#define HOLDFAST_SERVER_EXECUTOR_SUBMISSION_MARK_POOL_H_

#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/cuda/event.h"
#include "core/cuda/stream.h"

namespace holdfast::executor {

// Events that mark how far a stream has been given work. They are used again:
// to make one costs as much as a launch. Thread-safe; lives as long as the
// marks that it gave out.
class MarkPool : public std::enable_shared_from_this<MarkPool> {
 public:
  // A mark of what `stream` has been given so far.
  absl::StatusOr<std::shared_ptr<const cuda::Event>> Mark(
      const cuda::Stream& stream);

 private:
  static constexpr size_t kMaxFree = 1024;  // of each context

  absl::StatusOr<std::unique_ptr<cuda::Event>> Get(const cuda::Stream& stream);
  void GiveBack(std::unique_ptr<cuda::Event> event);

  absl::Mutex mutex_;
  std::map<const cuda::Context*, std::vector<std::unique_ptr<cuda::Event>>>
      free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SUBMISSION_MARK_POOL_H_
