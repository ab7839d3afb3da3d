// SPDX-License-Identifier: Apache-2.0
#include "server/holdings/session_imports.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/sharing/event_page.h"
#include "server/sharing/shared_chunk.h"
#include "server/sharing/shared_record.h"

namespace holdfast {
namespace {

// Sizes of chunks are multiples of it, in bytes: the drivers' granularity.
constexpr uint64_t kChunkUnit = uint64_t{2} << 20;

absl::Status CheckRange(const internal::ExportRequest& request,
                        uint64_t limit) {
  if (request.offset() <= limit && request.size() <= limit - request.offset()) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(absl::StrCat(request.size(), " bytes at ",
                                            request.offset(),
                                            " of a buffer of ", limit));
}

}  // namespace

void SessionImports::Open(const std::string& session,
                          std::shared_ptr<Tenant> tenant) {
  session_ = session;
  tenant_ = std::move(tenant);
}

void SessionImports::Adopt(
    uint64_t import, SharedResource resource,
    std::shared_ptr<const collections::OpenVersion> version) {
  Import& imported = imports_[import];
  imported.resource = std::move(resource);
  imported.version = std::move(version);
  if (imported.version != nullptr) imported.version->NoteRead();
  Keep(import, &imported);
  last_ = std::max(last_, import);
}

void SessionImports::AdoptSleeping(uint64_t import,
                                   const internal::SharedRange& range) {
  Import& imported = imports_[import];
  imported.resource.kind = v1::HANDLE_KIND_BUFFER;
  imported.resource.device = range.device();
  imported.resource.offset = range.offset();
  imported.resource.size = range.size();
  imported.resource.rights = range.rights();
  // A chunk of its own: see SHARING_EXPORT.
  const uint64_t end = range.offset() + range.size();
  imported.chunk_size = (end + kChunkUnit - 1) / kChunkUnit * kChunkUnit;
  Keep(import, &imported);
  last_ = std::max(last_, import);
}

void SessionImports::Keep(uint64_t number, Import* import) {
  internal::ImportRecord record;
  *record.mutable_range() = RecordOf(import->resource);
  record.set_asleep(import->asleep());
  if (import->version != nullptr) {
    const collections::CollectionVersion& version = import->version->version();
    record.set_owner(version.client);
    record.set_name(version.contents.name());
    record.set_version(version.number);
  }
  import->kept = kept_.KeepRecord({"import",
                                   { SessionNumber(session_),
                                     number }},
                                  record);
}

absl::Status SessionImports::CheckRoom() const {
  if (imports_.size() < kMaxImports) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the session has ", imports_.size(), " imports, which is the limit"));
}

absl::Status SessionImports::Add(
    SharedResource resource,
    std::shared_ptr<const collections::OpenVersion> version,
    SharingAnswer* answer) {
  return Add(Import{std::move(resource), std::move(version), {}}, answer);
}

absl::Status SessionImports::Add(Import import, SharingAnswer* answer) {
  HOLDFAST_RETURN_IF_ERROR(Describe(last_ + 1, import, answer));
  Import& added = imports_[++last_] = std::move(import);
  Keep(last_, &added);
  return absl::OkStatus();
}

absl::Status SessionImports::AddBuffer(const internal::OpenRequest& request,
                                       SharingAnswer* answer) {
  HOLDFAST_RETURN_IF_ERROR(CheckRoom());
  HOLDFAST_ASSIGN_OR_RETURN(
      Import import, FindBuffer(request, answer->reply.mutable_collection()));
  return Add(std::move(import), answer);
}

absl::Status SessionImports::Describe(uint64_t number, const Import& import,
                                      SharingAnswer* answer) {
  const SharedResource& resource = import.resource;
  internal::ImportedResource& reply = *answer->reply.mutable_imported();
  if (import.asleep()) {
    reply.set_asleep(true);
    reply.set_chunk_size(import.chunk_size);
  } else {
    HOLDFAST_ASSIGN_OR_RETURN(answer->descriptor,
                              resource.chunk->Open(resource.rights));
    reply.set_chunk_size(resource.chunk->size());
  }
  reply.set_import(number);
  reply.set_device(resource.device);
  reply.set_offset(resource.offset);
  reply.set_size(resource.size);
  reply.set_rights(resource.rights);
  return absl::OkStatus();
}

absl::Status SessionImports::Reopen(uint64_t import, SharingAnswer* answer) {
  const auto found = imports_.find(import);
  if (found == imports_.end()) {
    return absl::NotFoundError("it was imported no more");
  }
  reopened_.insert(import);
  return Describe(import, found->second, answer);
}

void SessionImports::EndRestore() {
  std::erase_if(imports_, [this](const auto& import) {
    return !reopened_.contains(import.first);
  });
  reopened_.clear();
}

const SessionImports::Import* SessionImports::FindOfVersion(
    uint64_t import) const {
  const auto found = imports_.find(import);
  if (found == imports_.end() || found->second.version == nullptr) {
    return nullptr;
  }
  return &found->second;
}

absl::Status SessionImports::NoteRead(uint64_t import) {
  const Import* const found = FindOfVersion(import);
  if (found == nullptr) {
    return absl::FailedPreconditionError("the buffer is of no collection");
  }
  found->version->NoteRead();
  return absl::OkStatus();
}

// Only when the record says that the import is asleep may the version be
// suspended: the next daemon would find an import that is awake, of memory that
// is not there.
absl::Status SessionImports::Sleep(uint64_t import) {
  if (FindOfVersion(import) == nullptr) {
    return absl::FailedPreconditionError("the buffer is of no collection");
  }
  Import& sleeping = imports_.at(import);
  sleeping.chunk_size = sleeping.resource.chunk->size();
  const auto version = std::exchange(sleeping.version, nullptr);
  const auto chunk = std::exchange(sleeping.resource.chunk, nullptr);
  Keep(import, &sleeping);
  return absl::OkStatus();
}

absl::Status SessionImports::Wake(const internal::WakeRequest& request,
                                  SharingAnswer* answer) {
  const auto found = imports_.find(request.import());
  if (found == imports_.end() || !found->second.asleep()) {
    return absl::FailedPreconditionError("the buffer does not sleep");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      Import import,
      FindBuffer(request.open(), answer->reply.mutable_collection()));
  Import& sleeping = found->second;
  const SharedResource& now = import.resource;
  if (now.chunk->size() != sleeping.chunk_size ||
      now.offset != sleeping.resource.offset ||
      now.size != sleeping.resource.size) {
    return absl::FailedPreconditionError(
        absl::StrCat("buffer ", request.open().buffer(), " of version ",
                     answer->reply.collection().version(), " has ", now.size,
                     " bytes, and had ", sleeping.resource.size,
                     " when it was unmapped: open it anew"));
  }
  // The executor still has it asleep if this fails.
  HOLDFAST_RETURN_IF_ERROR(Describe(request.import(), import, answer));
  import.kept = std::move(sleeping.kept);
  sleeping = std::move(import);
  Keep(request.import(), &sleeping);
  return absl::OkStatus();
}

absl::StatusOr<SessionImports::Import> SessionImports::FindBuffer(
    const internal::OpenRequest& request,
    v1::CollectionVersion* summary) const {
  HOLDFAST_ASSIGN_OR_RETURN(
      auto opened, collections_.Open(tenant_->name(), session_, request.name(),
                                     request.version()));
  const collections::CollectionVersion& version = opened->version();
  if (request.buffer() >= version.buffers.size()) {
    return absl::OutOfRangeError(absl::StrCat("buffer ", request.buffer(),
                                              " of ", version.buffers.size()));
  }
  summary->set_name(request.name());
  summary->set_version(version.number);
  for (const SharedResource& buffer : version.buffers) {
    summary->add_buffer_sizes(buffer.size);
  }
  SharedResource resource = version.buffers[request.buffer()];
  return Import{std::move(resource), std::move(opened), {}};
}

std::shared_ptr<const collections::OpenVersion> SessionImports::OpenFor(
    const internal::SharingRequest& request) const {
  if (request.has_reopen()) {
    const auto found = imports_.find(request.reopen());
    return found == imports_.end() ? nullptr : found->second.version;
  }
  if (session_.empty() || (!request.has_open() && !request.has_wake())) {
    return nullptr;
  }
  const internal::OpenRequest& open =
      request.has_open() ? request.open() : request.wake().open();
  auto opened =
      collections_.Open(tenant_->name(), session_, open.name(), open.version());
  return opened.ok() ? *std::move(opened) : nullptr;
}

// A descriptor says nothing of who may write on a GPU, so it is only for those
// who could commit another version as well.
absl::StatusOr<SharedResource> SessionImports::PartOf(
    const internal::ExportRequest& request) const {
  const Import* const import = FindOfVersion(request.import());
  if (import == nullptr) {
    return absl::FailedPreconditionError(
        "the buffer was imported; the session that made it exports it");
  }
  if (request.terms().foreign() != v1::FOREIGN_HANDLE_POSIX_DESCRIPTOR) {
    return absl::FailedPreconditionError(
        "sessions open the collection; only processes outside Holdfast get its "
        "memory by an export");
  }
  if (request.terms().rights() == v1::RIGHTS_READ_WRITE) {
    return absl::PermissionDeniedError(
        "nobody may write to a version of a collection");
  }
  const std::string& owner = import->version->version().client;
  if (owner != tenant_->name()) {
    return absl::PermissionDeniedError(
        absl::StrCat("the collection belongs to ", owner,
                     ", whose processes alone map it outside Holdfast"));
  }
  HOLDFAST_RETURN_IF_ERROR(CheckRange(request, import->resource.size));
  SharedResource part = import->resource;
  part.offset += request.offset();
  part.size = request.size();
  part.version = import->version;
  return part;
}

absl::StatusOr<SharedResource> SessionImports::Adoptable(
    uint64_t import) const {
  const Import* const found = FindOfVersion(import);
  if (found == nullptr) {
    return absl::FailedPreconditionError(
        "a buffer was imported and is of no collection that is mapped: its "
        "owner can change it after the commit");
  }
  const std::string& owner = found->version->version().client;
  if (owner == tenant_->name()) return found->resource;
  return absl::PermissionDeniedError(
      absl::StrCat("a buffer belongs to a collection of ", owner,
                   ", who pays for it: copy its arrays to adopt them"));
}

absl::StatusOr<const SharedResource*> SessionImports::FindEvent(
    uint64_t import) const {
  const auto found = imports_.find(import);
  if (found != imports_.end() && found->second.resource.event != nullptr) {
    return &found->second.resource;
  }
  return absl::NotFoundError("no such event was imported");
}

absl::StatusOr<UniqueFd> SessionImports::OpenEventPage(uint64_t import) const {
  HOLDFAST_ASSIGN_OR_RETURN(const SharedResource* event, FindEvent(import));
  return event->event->OpenForImporter();
}

absl::StatusOr<UniqueFd> SessionImports::OpenAbandonedEvent(
    uint64_t import) const {
  HOLDFAST_ASSIGN_OR_RETURN(const SharedResource* event, FindEvent(import));
  if (!event->event->abandoned()) {
    return absl::FailedPreconditionError(
        "the session that made the event has not ended");
  }
  return event->chunk->Open(v1::RIGHTS_READ_WRITE);
}

void SessionImports::Close() {
  session_.clear();
  imports_.clear();
}

void SessionImports::Report(v1::SessionUsage* usage) const {
  usage->mutable_imports()->set_used(imports_.size());
  usage->mutable_imports()->set_limit(kMaxImports);
  uint64_t bytes = 0;
  for (const auto& [number, import] : imports_) {
    if (!import.asleep()) bytes += import.resource.chunk->size();
  }
  usage->set_imported_bytes(bytes);
}

}  // namespace holdfast
