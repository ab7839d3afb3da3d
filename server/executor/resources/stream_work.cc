// SPDX-License-Identifier: Apache-2.0
#include "server/executor/resources/stream_work.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace holdfast::executor {
namespace {

using Spans = std::vector<InlineStaging::Span>;

std::shared_ptr<Spans> TakeKept(StreamResource& stream) {
  return std::make_shared<Spans>(std::exchange(stream.kept, {}));
}

}  // namespace

void StreamWork::NoteGiven(StreamResource& stream) {
  stream.unmarked = true;
  stream.mark = nullptr;
  stream.progress.NoteGiven(sequence_);
  clocks_.NoteGiven(options_.placement.InDriver(stream.device));
}

void StreamWork::NoteIdle(StreamResource& stream) {
  stream.unmarked = false;
  stream.mark = nullptr;
  stream.progress.NoteIdle();
  stream.kept.clear();
}

absl::StatusOr<std::shared_ptr<const cuda::Event>> StreamWork::Mark(
    StreamResource& stream) {
  auto mark = watcher_.RecordEvent(*stream.stream);
  if (stream.unmarked && mark.ok()) {
    stream.unmarked = false;
    stream.mark = *mark;
  }
  return mark;
}

absl::StatusOr<std::shared_ptr<const cuda::Event>> StreamWork::NoteDestroyed(
    StreamResource& stream) {
  // One that is idle by now leaves nothing.
  const auto idle = stream.stream->Query();
  auto end = Mark(stream);
  if (end.ok()) {
    destroyed_.Add(stream, *end, idle.ok() && *idle, watcher_);
  } else {
    KeepForever(TakeKept(stream));
  }
  return end;
}

uint64_t StreamWork::FirstUnfinished(std::span<const StreamPoint> awaited) {
  absl::InlinedVector<const void*, 4> excluded;
  for (const StreamPoint& point : awaited) excluded.push_back(point.done.get());
  std::sort(excluded.begin(), excluded.end());
  std::vector<StreamResource*> busy;
  streams_.ForEach([&](StreamResource& stream) {
    if (stream.progress.first_unfinished() == StreamProgress::kNone) return;
    if (!std::binary_search(excluded.begin(), excluded.end(),
                            stream.progress.done())) {
      busy.push_back(&stream);
    }
  });
  std::sort(busy.begin(), busy.end(), [](const auto* a, const auto* b) {
    return a->progress.first_unfinished() < b->progress.first_unfinished();
  });
  for (StreamResource* stream : busy) {
    const auto idle = stream->stream->Query();
    if (!idle.ok() || !*idle) return stream->progress.first_unfinished();
    NoteIdle(*stream);
  }
  return StreamProgress::kNone;
}

uint64_t StreamWork::DoneThrough(std::span<const StreamPoint> awaited) {
  uint64_t done = std::min(sequence_, FirstUnfinished(awaited) - 1);
  for (const StreamPoint& point : awaited) {
    done = std::min(done, point.sequence);
  }
  return done;
}

void StreamWork::Watch() {
  for (const uint32_t device : clocks_.TakeUnmarked()) {
    watcher_.WatchIdly(
        TakeMarks(options_.placement.Named(device)),
        [this, device](const absl::Status&) { NoteDone(device); });
  }
}

CompletionWatcher::Events StreamWork::TakeMarks(uint32_t device) {
  CompletionWatcher::Events marks = destroyed_.TakeMarks(device);
  streams_.ForEach([&](StreamResource& stream) {
    if (stream.device != device) return;
    // A device that refuses a mark is in error; its time ends here.
    if (stream.unmarked) Mark(stream).status().IgnoreError();
    stream.unmarked = false;
    if (stream.mark == nullptr) return;
    marks.push_back(std::exchange(stream.mark, nullptr));
  });
  return marks;
}

void StreamWork::NoteDone(uint32_t device) {
  const DeviceClocks::Next next = clocks_.NoteDone(device);
  if (next.mark && options_.watch_later) options_.watch_later();
  if (next.place && on_room_) on_room_();
}

void StreamWork::KeepUntilDone(StreamResource& stream,
                               InlineStaging::Span span) {
  const void* const block = span.block.get();
  stream.kept.push_back(std::move(span));
  // Blocks are filled one after the other.
  if (std::exchange(last_kept_block_, block) == block) return;
  if (++kept_blocks_ > kMaxKeptBlocks) WatchKept();
}

void StreamWork::WatchKept() {
  if (kept_blocks_ == 0) return;
  kept_blocks_ = 0;
  last_kept_block_ = nullptr;
  streams_.ForEach([this](StreamResource& stream) {
    if (stream.kept.empty()) return;
    const auto mark = Mark(stream);
    auto kept = TakeKept(stream);
    if (!mark.ok()) return KeepForever(std::move(kept));
    watcher_.Watch({*mark}, [kept = std::move(kept)](const absl::Status&) {});
  });
}

bool StreamWork::HasRoom(uint32_t device) {
  if (clocks_.TakePlace(device)) return true;
  Watch();
  return clocks_.TakePlace(device);
}

}  // namespace holdfast::executor
