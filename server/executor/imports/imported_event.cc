// SPDX-License-Identifier: Apache-2.0
#include "server/executor/imports/imported_event.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/stream_value.h"

namespace holdfast::executor {

absl::StatusOr<std::shared_ptr<ImportedEvent>> ImportedEvent::Open(
    std::shared_ptr<const cuda::Context> context,
    std::shared_ptr<ImportedMemory> words, const SharingLink& link) {
  internal::SharingRequest request;
  request.set_imported_event_page(words->import());
  HOLDFAST_ASSIGN_OR_RETURN(const SharingAnswer answer, link.ask(request, -1));
  HOLDFAST_ASSIGN_OR_RETURN(
      FileMapping page,
      FileMapping::Map(answer.descriptor.get(), FileMapping::Access::kReadOnly,
                       EventState::kPageBytes));
  return std::shared_ptr<ImportedEvent>(
      new ImportedEvent(std::move(context), std::move(words), std::move(page)));
}

absl::StatusOr<EventRecording> ImportedEvent::Latest() const {
  if (abandoned()) return EventRecording{};
  const auto recording = EventRecording::Unpack(
      static_cast<const EventState*>(page_.data())->latest);
  if ((recording.word + uint64_t{1}) * sizeof(uint64_t) <= words_->size()) {
    return recording;
  }
  return absl::DataLossError(
      absl::StrCat("the event's maker says that it was recorded in word ",
                   recording.word, " of ", words_->size(), " bytes"));
}

absl::StatusOr<const cuda::Stream*> ImportedEvent::Waiter() {
  if (waiter_ == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(waiter_, cuda::Stream::Create(context_, {}));
  }
  return waiter_.get();
}

absl::Status ImportedEvent::MapForWriting(const SharingLink& link) {
  if (writable_ != nullptr) return absl::OkStatus();
  internal::SharingRequest request;
  request.set_abandoned_event(words_->import());
  HOLDFAST_ASSIGN_OR_RETURN(SharingAnswer answer, link.ask(request, -1));
  HOLDFAST_ASSIGN_OR_RETURN(
      writable_,
      memory::ImportedChunk::Map(context_, std::move(answer.descriptor),
                                 words_->mapped_size(),
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  return absl::OkStatus();
}

absl::Status ImportedEvent::Reach(const EventRecording& recording,
                                  const cuda::Stream& stream,
                                  const SharingLink& link) {
  HOLDFAST_RETURN_IF_ERROR(MapForWriting(link));
  const CUdeviceptr words = writable_->address() + words_->offset();
  return cuda::WriteValueAsync(
      stream, words + recording.word * sizeof(uint64_t), recording.number);
}

}  // namespace holdfast::executor
