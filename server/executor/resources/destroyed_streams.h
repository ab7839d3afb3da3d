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

// The work of destroyed streams. The work continues, and its end can still be
// queried. Not thread-safe: belongs to the submission thread.
class DestroyedStreams {
 public:
  DestroyedStreams() = default;
  DestroyedStreams(const DestroyedStreams&) = delete;
  DestroyedStreams& operator=(const DestroyedStreams&) = delete;

  // Takes over the mark of the stream (StreamResource::mark). Keeps the inline
  // bytes that the stream's work uses until `watcher` finds the work done.
  // `end` is an event after all of this work. `idle`: the work was done
  // already.
  void Add(StreamResource& stream, std::shared_ptr<const cuda::Event> end,
           bool idle, CompletionWatcher& watcher);

  // Returns true if there is a stream whose work the watcher has not found done
  // yet.
  bool any_left() const { return *left_ > 0; }

  // Returns true if the work of all streams is done. Queries the devices, and
  // returns the error of the work if it has failed.
  absl::StatusOr<bool> AreDone();

  // Removes and returns the marks of the work on this device that is not
  // watched.
  CompletionWatcher::Events TakeMarks(uint32_t device);

 private:
  // Adds an end. Drops completed ends each time when the list has doubled.
  void AddEnd(std::shared_ptr<const cuda::Event> end);

  // The streams whose work is not known to be done.
  const std::shared_ptr<std::atomic<int>> left_ =
      std::make_shared<std::atomic<int>>(0);
  // The ends of the work of streams that were not idle, and the number of ends
  // at which completed ends are dropped.
  static constexpr size_t kPruneEndsFrom = 16;
  CompletionWatcher::Events ends_;
  size_t prune_ends_at_ = kPruneEndsFrom;
  // The marks of work that is not watched, by device.
  std::map<uint32_t, CompletionWatcher::Events> marks_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_DESTROYED_STREAMS_H_
