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

// An event of another session (see PublishedEvent): words of device memory that
// its recordings write, and a page of host memory with the last recording. Both
// belong to the session that made the event, and are hostile input. Belongs to
// the submission thread, except for abandoned(); may be destroyed by any
// thread.
class ImportedEvent {
 public:
  // Opens the event whose words were imported as `words`. Asks the supervisor
  // for the event's page, and blocks until the answer.
  static absl::StatusOr<std::shared_ptr<ImportedEvent>> Open(
      std::shared_ptr<const cuda::Context> context,
      std::shared_ptr<ImportedMemory> words, const SharingLink& link);
  ImportedEvent(const ImportedEvent&) = delete;
  ImportedEvent& operator=(const ImportedEvent&) = delete;

  const ImportedMemory& words() const { return *words_; }

  // Returns the last recording. The number of the recording is 0 if there is
  // nothing to wait for: the event was never recorded, or its session has
  // ended. DATA_LOSS: the page names a word outside the imported words.
  absl::StatusOr<EventRecording> Latest() const;
  // Returns the address of the word that the recording writes.
  CUdeviceptr AddressOf(const EventRecording& recording) const {
    return words_->address() + recording.word * sizeof(uint64_t);
  }

  // Returns a stream that is used only to wait for the event. The first call
  // makes it; it lives as long as this object.
  absl::StatusOr<const cuda::Stream*> Waiter();

  // Returns true if the event's session has ended, so that no stream of that
  // session will write a recording any more. Thread-safe.
  bool abandoned() const {
    return static_cast<const EventState*>(page_.data())->abandoned != 0;
  }
  // Makes `stream` write the recording's number in place of the event's
  // session, which ends the waits for it. Asks the supervisor for access, and
  // blocks until the answer. FAILED_PRECONDITION: that session still exists.
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
