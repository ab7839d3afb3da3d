// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_DESTROYED_STREAMS_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_DESTROYED_STREAMS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "core/cuda/event.h"
#include "server/executor/resources/stream_resource.h"
#include "server/executor/submission/completion_watcher.h"

namespace holdfast::executor {

// The work of streams that have been destroyed: it goes on, and has an end that
// can still be asked for. Not thread-safe: belongs to the submission thread.
class DestroyedStreams {
 public:
  DestroyedStreams() = default;
  DestroyedStreams(const DestroyedStreams&) = delete;
  DestroyedStreams& operator=(const DestroyedStreams&) = delete;

  // Takes what the stream's work uses, until `watcher` has found it done, and
  // the stream's mark. `end` is behind all that it was given; `idle`: that was
  // done before.
  void Add(StreamResource& stream, std::shared_ptr<const cuda::Event> end,
           bool idle, CompletionWatcher& watcher);

  // Is there one whose work is not known to be done? The watcher tells.
  bool any_left() const { return *left_ > 0; }

  // Is all done that they had been given? Asks the device.
  absl::StatusOr<bool> AreDone();

  // Marks behind the work that nobody waits for, on this device.
  CompletionWatcher::Events TakeMarks(uint32_t device);

 private:
  // Drops ends that have come true, when there are twice as many as were left
  // the last time.
  void AddEnd(std::shared_ptr<const cuda::Event> end);

  // Those whose work is not known to be done.
  const std::shared_ptr<std::atomic<int>> left_ =
      std::make_shared<std::atomic<int>>(0);
  // Behind the work of those that were not idle, and the number of them at
  // which those that have come true are dropped.
  static constexpr size_t kPruneEndsFrom = 16;
  CompletionWatcher::Events ends_;
  size_t prune_ends_at_ = kPruneEndsFrom;
  // Behind the work that nobody waits for, by device.
  std::map<uint32_t, CompletionWatcher::Events> marks_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_DESTROYED_STREAMS_H_
