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

// An event of another session, as PublishedEvent shows it. The page is its
// maker's and may hold anything. Belongs to the submission thread, but for
// abandoned(); may be destroyed by any thread.
class ImportedEvent {
 public:
  // Asks the supervisor for the page of what was imported as `words`.
  static absl::StatusOr<std::shared_ptr<ImportedEvent>> Open(
      std::shared_ptr<const cuda::Context> context,
      std::shared_ptr<ImportedMemory> words, const SharingLink& link);
  ImportedEvent(const ImportedEvent&) = delete;
  ImportedEvent& operator=(const ImportedEvent&) = delete;

  const ImportedMemory& words() const { return *words_; }

  // The last recording; its number is 0 if there is nothing to wait for:
  // there was none, or the maker is gone. DATA_LOSS: it cannot be one.
  absl::StatusOr<EventRecording> Latest() const;
  CUdeviceptr AddressOf(const EventRecording& recording) const {
    return words_->address() + recording.word * sizeof(uint64_t);
  }

  // A stream that does nothing but wait for the event.
  absl::StatusOr<const cuda::Stream*> Waiter();

  // The maker is gone, and nothing reaches a recording any more. Thread-safe.
  bool abandoned() const {
    return static_cast<const EventState*>(page_.data())->abandoned != 0;
  }
  // Has `stream` do it instead of the maker. FAILED_PRECONDITION: the maker is
  // there.
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
  // The words once more, when the maker is gone.
  std::unique_ptr<memory::ImportedChunk> writable_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_IMPORTS_IMPORTED_EVENT_H_
