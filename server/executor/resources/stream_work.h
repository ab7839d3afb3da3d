// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_WORK_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_WORK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cuda/event.h"
#include "server/counters/device_times.h"
#include "server/executor/memory/inline_staging.h"
#include "server/executor/resources/destroyed_streams.h"
#include "server/executor/resources/device_placement.h"
#include "server/executor/resources/handle_table.h"
#include "server/executor/resources/stream_progress.h"
#include "server/executor/resources/stream_resource.h"
#include "server/executor/submission/completion_watcher.h"
#include "server/executor/submission/device_clocks.h"

namespace holdfast::executor {

// Follows the submitted work of a session's streams: the begin and end of the
// work, to measure GPU time, and the memory that the work still uses. Events in
// the streams, the marks, show the end of the work. They are recorded as late
// and as rarely as possible. Not thread-safe: belongs to the submission thread.
class StreamWork {
 public:
  struct Options {
    DevicePlacement placement;
    std::shared_ptr<DeviceTimes> times;
    // Makes the submission thread call Watch soon. Thread-safe.
    std::function<void()> watch_later;
  };

  // `streams` and `watcher` are borrowed. This object must outlive the watcher.
  StreamWork(HandleTable<StreamResource>& streams, CompletionWatcher& watcher,
             Options options)
      : streams_(streams),
        watcher_(watcher),
        options_(std::move(options)),
        clocks_(options_.times) {}
  StreamWork(const StreamWork&) = delete;
  StreamWork& operator=(const StreamWork&) = delete;

  // Sets the command whose work is submitted from now on.
  void SetCommand(uint64_t sequence) { sequence_ = sequence; }
  uint64_t command() const { return sequence_; }
  // Starts the device's clock, which runs until the work is done. Must be
  // called before work is submitted to the stream, unless `stream.unmarked`.
  void NoteGiven(StreamResource& stream);
  // Drops the stream's mark and kept bytes. Called when all work of the stream
  // is done.
  void NoteIdle(StreamResource& stream);
  // Returns an event at the present end of the stream, as
  // CompletionWatcher::RecordEvent.
  absl::StatusOr<std::shared_ptr<const cuda::Event>> Mark(
      StreamResource& stream);
  // Moves what is noted of the stream to destroyed(). Must be called before the
  // stream is destroyed while its work continues. Returns an event as Mark.
  absl::StatusOr<std::shared_ptr<const cuda::Event>> NoteDestroyed(
      StreamResource& stream);
  DestroyedStreams& destroyed() { return destroyed_; }
  // Returns the last command, at most the present one, up to which all commands
  // are done as soon as the streams of `awaited` have come to these points.
  // Queries streams that are not awaited until one has unfinished work.
  uint64_t DoneThrough(std::span<const StreamPoint> awaited);

  // Marks and watches the work that was submitted since the last call, so that
  // its end is noted. Called after each batch of commands.
  void Watch();

  // Keeps inline bytes until the present work of the stream is done. The work
  // is watched only when more than kMaxKeptBlocks blocks are kept, or by
  // WatchKept, because no client waits for its end.
  void KeepUntilDone(StreamResource& stream, InlineStaging::Span span);
  // Watches the work that uses the kept bytes. Called when a command waits for
  // memory.
  void WatchKept();
  // Keeps `owner`, the memory of work whose end cannot be determined, as long
  // as this object.
  void KeepForever(std::shared_ptr<const void> owner) {
    kept_.push_back(std::move(owner));
  }

  // Takes a place for one command's work, in a turn (DeviceTurns::kOwn) that
  // other sessions wait for. Returns false if the device has enough work; then
  // any thread calls the callback of OnRoom when there may be room again.
  // `device` is the driver's ordinal. REQUIRES: device <
  // DeviceTimes::kMaxDevices.
  bool HasRoom(uint32_t device);
  // Sets the callback of HasRoom. REQUIRES: called once, before there is any
  // work.
  void OnRoom(std::function<void()> callback) {
    on_room_ = std::move(callback);
  }

 private:
  // Returns the first command that may be unfinished in a stream that is not
  // awaited, as StreamProgress::first_unfinished.
  uint64_t FirstUnfinished(std::span<const StreamPoint> awaited);
  // Removes and returns the marks of all work of the device that is not
  // watched. `device` is the session's ordinal.
  CompletionWatcher::Events TakeMarks(uint32_t device);
  // Notes that the marks of the device's work have completed. Called by the
  // watcher's thread. `device` is the driver's ordinal, as everywhere with
  // clocks_.
  void NoteDone(uint32_t device);

  HandleTable<StreamResource>& streams_;
  CompletionWatcher& watcher_;
  const Options options_;
  DeviceClocks clocks_;
  std::function<void()> on_room_;
  uint64_t sequence_ = 0;  // see SetCommand
  DestroyedStreams destroyed_;
  std::vector<std::shared_ptr<const void>> kept_;
  // A span keeps its whole block of 64 KiB. So the blocks that were kept since
  // the last WatchKept are counted.
  static constexpr size_t kMaxKeptBlocks = 16;
  size_t kept_blocks_ = 0;
  const void* last_kept_block_ = nullptr;  // only to be compared
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_STREAM_WORK_H_
