// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_IMPORTS_IMPORTED_EVENT_H_
#define HOLDFAST_SERVER_EXECUTOR_IMPORTS_IMPORTED_EVENT_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/memfd.h"
#include "core/cuda/context.h"
#include "core/cuda/stream.h"
#include "core/memory/imported_chunk.h"
#include "cuda.h"
#include "server/executor/imports/imported_memory.h"
#include "server/executor/imports/sharing_link.h"
#include "server/sharing/event_state.h"

namespace holdfast::executor {

// An event of another session; see PublishedEvent. Its page belongs to the
// session that made it, and is hostile input. Belongs to the submission thread,
// except for abandoned(); may be destroyed by any thread.
class ImportedEvent {
 public:
  // Asks the supervisor for the page of the event, which was imported as
  // `words`.
  static absl::StatusOr<std::shared_ptr<ImportedEvent>> Open(
      std::shared_ptr<const cuda::Context> context,
      std::shared_ptr<ImportedMemory> words, const SharingLink& link);
  ImportedEvent(const ImportedEvent&) = delete;
  ImportedEvent& operator=(const ImportedEvent&) = delete;

  const ImportedMemory& words() const { return *words_; }

  // Returns the last recording. Its number is 0 if there is nothing to wait
  // for: the event was never recorded, or its session has ended. DATA_LOSS: the
  // page names a word outside the imported words.
  absl::StatusOr<EventRecording> Latest() const;
  CUdeviceptr AddressOf(const EventRecording& recording) const {
    return words_->address() + recording.word * sizeof(uint64_t);
  }

  // Returns a stream that is used only to wait for the event.
  absl::StatusOr<const cuda::Stream*> Waiter();

  // Returns true if the event's session has ended, so that no stream will reach
  // a recording any more. Thread-safe.
  bool abandoned() const {
    return static_cast<const EventState*>(page_.data())->abandoned != 0;
  }
  // Makes `stream` reach the recording in place of the event's session.
  // FAILED_PRECONDITION: that session still exists.
  absl::Status Reach(const EventRecording& recording,
                     const cuda::Stream& stream, const SharingLink& link);

 private:
  ImportedEvent(std::shared_ptr<const cuda::Context> context,
                std::shared_ptr<ImportedMemory> words, FileMapping page)
      : context_(std::move(context)),
        words_(std::move(words)),
        page_(std::move(page)) {}
  absl::Status MapForWriting(const SharingLink& link);

  const std::shared_ptr<const cuda::Context> context_;
  const std::shared_ptr<ImportedMemory> words_;
  const FileMapping page_;
  std::unique_ptr<cuda::Stream> waiter_;
  // The words mapped for writing, after the event's session has ended.
  std::unique_ptr<memory::ImportedChunk> writable_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_IMPORTS_IMPORTED_EVENT_H_
