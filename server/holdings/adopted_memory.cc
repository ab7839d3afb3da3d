// SPDX-License-Identifier: Apache-2.0
//
// The part of SessionMemory that takes over what an earlier daemon has left.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/holdings/session_memory.h"
#include "server/sharing/shared_record.h"

namespace holdfast {
namespace {

// Sizes of chunks are multiples of it, in bytes: the drivers' granularity.
constexpr uint64_t kChunkUnit = uint64_t{2} << 20;

}  // namespace

absl::Status SessionMemory::Adopt(std::map<uint64_t, KeptChunk>& chunks) {
  // Pages of events that are gone.
  std::erase_if(chunks,
                [](const auto& entry) { return !entry.second.memory.valid(); });
  if (chunks.size() > kMaxChunks) {
    return absl::ResourceExhaustedError(
        absl::StrCat(chunks.size(), " chunks of memory; limit: ", kMaxChunks));
  }
  for (const auto& [number, chunk] : chunks) {
    internal::MemoryPlace place;
    place.set_device(chunk.device);
    HOLDFAST_RETURN_IF_ERROR(services_.grants.Reserve(place, chunk.size));
  }
  for (auto& [number, chunk] : chunks) {
    internal::ChunkCreated created;
    created.set_chunk(number);
    created.set_device(chunk.device);
    created.set_address(chunk.address);
    created.set_size(chunk.size);
    HOLDFAST_RETURN_IF_ERROR(Hold(created, std::move(chunk.memory)));
    if (!chunk.event_page.valid()) continue;
    auto page = EventPage::Adopt(std::move(chunk.event_page));
    if (!page.ok()) continue;
    (*page)->Keep(services_.kept, Name("event", number));
    chunks_[number].event = *std::move(page);
  }
  return absl::OkStatus();
}

void SessionMemory::AdoptSaved(const internal::ChunkCreated& chunk) {
  chunks_[chunk.chunk()] = {.device = chunk.device(),
                            .address = chunk.address(),
                            .size = chunk.size(),
                            .saved_offset = chunk.saved_offset()};
}

absl::StatusOr<SharedResource> SessionMemory::AdoptShared(
    const internal::SharedRange& range) {
  HOLDFAST_ASSIGN_OR_RETURN(SharedResource resource,
                            Range(range.chunk(), range.offset(), range.size()));
  resource.kind = static_cast<v1::HandleKind>(range.kind());
  resource.rights = range.rights();
  if (range.event()) resource.event = chunks_.at(range.chunk()).event;
  return resource;
}

void SessionMemory::AdoptImport(
    uint64_t import, SharedResource resource,
    std::shared_ptr<const collections::OpenVersion> version) {
  Imported& imported = imports_[import];
  imported.resource = std::move(resource);
  imported.version = std::move(version);
  if (imported.version != nullptr) imported.version->NoteRead();
  Keep(import, &imported);
  last_import_ = std::max(last_import_, import);
}

void SessionMemory::AdoptSleeping(uint64_t import,
                                  const internal::SharedRange& range) {
  Imported& imported = imports_[import];
  imported.resource.kind = v1::HANDLE_KIND_BUFFER;
  imported.resource.device = range.device();
  imported.resource.offset = range.offset();
  imported.resource.size = range.size();
  imported.resource.rights = range.rights();
  // A chunk of its own: see SHARING_EXPORT.
  const uint64_t end = range.offset() + range.size();
  imported.chunk_size = (end + kChunkUnit - 1) / kChunkUnit * kChunkUnit;
  Keep(import, &imported);
  last_import_ = std::max(last_import_, import);
}

void SessionMemory::Keep(uint64_t number, Imported* import) {
  internal::ImportRecord record;
  *record.mutable_range() = RecordOf(import->resource);
  record.set_asleep(import->asleep());
  if (import->version != nullptr) {
    const collections::CollectionVersion& version = import->version->version();
    record.set_owner(version.client);
    record.set_name(version.contents.name());
    record.set_version(version.number);
  }
  import->kept = services_.kept.KeepRecord(Name("import", number), record);
}

}  // namespace holdfast
