// SPDX-License-Identifier: Apache-2.0
#include "server/executor/resources/published_event.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/copy.h"
#include "core/cuda/stream_value.h"
#include "server/executor/imports/sharing_link.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {
namespace {

constexpr uint64_t kWordBytes = sizeof(uint64_t);
constexpr uint64_t kBytes = EventState::kMaxWords * kWordBytes;

absl::StatusOr<FileMapping> AskForPage(Resources& resources, uint32_t device,
                                       const memory::Allocation& allocation) {
  internal::SharingRequest request;
  request.set_event_page(ChunkName(device, allocation.block.span));
  HOLDFAST_ASSIGN_OR_RETURN(const SharingAnswer answer,
                            resources.sharing().ask(request, -1));
  return FileMapping::Map(answer.descriptor.get(),
                          FileMapping::Access::kReadWrite,
                          EventState::kPageBytes);
}

// No importer may find what lay there before.
absl::Status Clear(const cuda::Stream& stream, CUdeviceptr address) {
  return cuda::FillAsync(stream, address, /*pattern=*/0, /*pattern_bytes=*/1,
                         kBytes);
}

// Nothing will reach the recordings that a fault has dropped.
absl::Status ReachAll(const cuda::Stream& stream, CUdeviceptr address,
                      const EventState& state) {
  const uint64_t number = EventRecording::Unpack(state.latest).number;
  const uint32_t words = std::min<uint32_t>(state.words, EventState::kMaxWords);
  for (uint32_t i = 0; i < words; ++i) {
    HOLDFAST_RETURN_IF_ERROR(
        cuda::WriteValueAsync(stream, address + i * kWordBytes, number));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<PublishedEvent>> PublishedEvent::Create(
    Resources& resources, uint64_t handle, uint32_t ordinal) {
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.Open(ordinal));
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Stream* host,
                            resources.devices.HostStream(ordinal));
  HOLDFAST_ASSIGN_OR_RETURN(
      const memory::Allocation allocation,
      resources.devices.Allocate(handle, ordinal, kBytes, /*stream=*/nullptr,
                                 /*alone=*/true));
  auto page = AskForPage(resources, ordinal, allocation);
  absl::Status status = page.status();
  if (status.ok()) {
    const auto& state = *static_cast<const EventState*>(page->data());
    status = resources.devices.restoring()
                 ? ReachAll(*host, allocation.address, state)
                 : Clear(*host, allocation.address);
  }
  // Takes microseconds, once.
  if (status.ok()) status = host->Synchronize();
  if (!status.ok()) {
    status.Update(device->allocator->Free(allocation, nullptr));
    return status;
  }
  return std::unique_ptr<PublishedEvent>(
      new PublishedEvent(ordinal, allocation, *std::move(page)));
}

absl::StatusOr<uint32_t> PublishedEvent::WordOf(uint64_t stream) {
  const auto found = words_.find(stream);
  if (found != words_.end()) return found->second;
  const auto word = static_cast<uint32_t>(words_.size());
  if (word == EventState::kMaxWords) {
    return absl::ResourceExhaustedError(
        absl::StrCat("an interprocess event was recorded in ", word,
                     " streams, which is the limit; make another event"));
  }
  words_.emplace(stream, word);
  if (word >= state().words) state().words = word + 1;
  return word;
}

absl::Status PublishedEvent::Record(uint64_t handle,
                                    const cuda::Stream& stream) {
  EventRecording recording = EventRecording::Unpack(state().latest);
  ++recording.number;
  HOLDFAST_ASSIGN_OR_RETURN(recording.word, WordOf(handle));
  HOLDFAST_RETURN_IF_ERROR(cuda::WriteValueAsync(
      stream, allocation_.address + recording.word * kWordBytes,
      recording.number));
  // Last, so that no importer waits for what no stream will write.
  state().latest = recording.Pack();
  return absl::OkStatus();
}

}  // namespace holdfast::executor
