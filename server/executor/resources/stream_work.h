// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_WORK_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_WORK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cuda/event.h"
#include "server/counters/device_times.h"
#include "server/executor/memory/inline_staging.h"
#include "server/executor/resources/destroyed_streams.h"
#include "server/executor/resources/device_placement.h"
#include "server/executor/resources/handle_table.h"
#include "server/executor/resources/stream_resource.h"
#include "server/executor/submission/completion_watcher.h"
#include "server/executor/submission/device_clocks.h"

namespace holdfast::executor {

// The work that the streams of a session have been given: when it begins and
// ends, for the account of GPU time, and the bytes that it still uses. Its end
// is found by marks in the streams, which are made as late and as few as can
// be. Not thread-safe: belongs to the submission thread.
class StreamWork {
 public:
  struct Options {
    DevicePlacement placement;
    std::shared_ptr<DeviceTimes> times;
    // Has Watch called by the thread that this belongs to, soon. Thread-safe.
    std::function<void()> watch_later;
  };

  // Both are borrowed; this must outlive the watcher.
  StreamWork(HandleTable<StreamResource>& streams, CompletionWatcher& watcher,
             Options options)
      : streams_(streams),
        watcher_(watcher),
        options_(std::move(options)),
        clocks_(options_.times) {}
  StreamWork(const StreamWork&) = delete;
  StreamWork& operator=(const StreamWork&) = delete;

  // The stream is about to be given work: the device's clock runs from now on,
  // until its work is done. To be called unless `stream.unmarked`.
  void NoteGiven(StreamResource& stream);
  // All that the stream was given is done, so that it needs no mark.
  void NoteIdle(StreamResource& stream);
  // A mark of what the stream has been given so far, as
  // CompletionWatcher::RecordEvent.
  absl::StatusOr<std::shared_ptr<const cuda::Event>> Mark(
      StreamResource& stream);
  // The stream is about to be destroyed, and its work goes on. Returns a mark
  // of it, as Mark.
  absl::StatusOr<std::shared_ptr<const cuda::Event>> NoteDestroyed(
      StreamResource& stream);
  DestroyedStreams& destroyed() { return destroyed_; }

  // Has the work watched that was given since, so that its end is known. To be
  // called when no more is given for the moment.
  void Watch();

  // Keeps inline bytes until the stream is known to have done what it was given
  // so far. Nobody waits for that, so its end is looked for only when more than
  // kMaxKeptBlocks are kept, or by WatchKept.
  void KeepUntilDone(StreamResource& stream, InlineStaging::Span span);
  // Has the end of the work watched that uses what is kept. To be called when a
  // command waits for memory.
  void WatchKept();
  // Keeps what work may use whose end nobody can tell.
  void KeepForever(std::shared_ptr<const void> owner) {
    kept_.push_back(std::move(owner));
  }

  // In a turn that others wait for: takes a place for one command's work.
  // Returns false if the device has enough; what OnRoom was given is called, by
  // any thread, when that may be over. REQUIRES: device, the driver's ordinal,
  // < DeviceTimes::kMaxDevices.
  bool HasRoom(uint32_t device);
  // Once, before there is any work.
  void OnRoom(std::function<void()> callback) {
    on_room_ = std::move(callback);
  }

 private:
  // Marks of all work of the session's device that nobody waits for.
  CompletionWatcher::Events TakeMarks(uint32_t device);
  // A mark of the device's work has come true. Called by the watcher's threads.
  // `device` is the driver's ordinal, as everywhere with clocks_.
  void NoteDone(uint32_t device);

  HandleTable<StreamResource>& streams_;
  CompletionWatcher& watcher_;
  const Options options_;
  DeviceClocks clocks_;
  std::function<void()> on_room_;
  DestroyedStreams destroyed_;
  std::vector<std::shared_ptr<const void>> kept_;
  // A span keeps its whole block, however few bytes it has: what is counted is
  // blocks, since the last WatchKept. 16 have 1 MiB.
  static constexpr size_t kMaxKeptBlocks = 16;
  size_t kept_blocks_ = 0;
  const void* last_kept_block_ = nullptr;  // only to be compared
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_WORK_H_
