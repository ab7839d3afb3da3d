// SPDX-License-Identifier: Apache-2.0
//
// The requests of SessionMemory that make and open versions of collections.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/holdings/session_memory.h"

namespace holdfast {
namespace {

absl::StatusOr<v1::CommitCollection> ReadContents(int descriptor) {
  if (!IsSealed(descriptor)) {
    return absl::InvalidArgumentError("the description is no sealed memfd");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const FileMapping mapping,
      FileMapping::Map(descriptor, FileMapping::Access::kReadOnly));
  v1::CommitCollection contents;
  if (mapping.size() > kMaxCollectionDescription ||
      !contents.ParseFromArray(mapping.data(),
                               static_cast<int>(mapping.size()))) {
    return absl::InvalidArgumentError("the description cannot be read");
  }
  return contents;
}

// Chunks that nobody may write to any more, unless the commit fails.
class Seals {
 public:
  Seals() = default;
  ~Seals() {
    for (const auto& chunk : chunks_) chunk->Unseal();
  }
  Seals(const Seals&) = delete;
  Seals& operator=(const Seals&) = delete;

  absl::Status Add(const std::shared_ptr<SharedChunk>& chunk) {
    HOLDFAST_ASSIGN_OR_RETURN(const bool changed, chunk->Seal());
    if (changed) chunks_.push_back(chunk);
    return absl::OkStatus();
  }
  void Keep() { chunks_.clear(); }

 private:
  std::vector<std::shared_ptr<SharedChunk>> chunks_;
};

}  // namespace

absl::StatusOr<SharedResource> SessionMemory::Committed(
    const internal::CommittedBuffer& buffer) {
  if (!buffer.has_import()) {
    return Range(buffer.chunk(), buffer.offset(), buffer.size());
  }
  const auto found = imports_.find(buffer.import());
  if (found == imports_.end() || found->second.version == nullptr) {
    return absl::FailedPreconditionError(
        "a buffer was imported and is of no collection that is mapped: its "
        "owner can change it after the commit");
  }
  const std::string& owner = found->second.version->version().client;
  if (owner == tenant_->name()) return found->second.resource;
  return absl::PermissionDeniedError(
      absl::StrCat("a buffer belongs to a collection of ", owner,
                   ", who pays for it: copy its arrays to adopt them"));
}

// A descriptor says nothing of who may write on a GPU, so it is only for those
// who could commit another version as well.
absl::StatusOr<SharedResource> SessionMemory::OfCollection(
    const internal::ExportRequest& request) {
  const auto found = imports_.find(request.import());
  if (found == imports_.end() || found->second.version == nullptr) {
    return absl::FailedPreconditionError(
        "the buffer was imported; the session that made it exports it");
  }
  const SharedResource& imported = found->second.resource;
  const auto& opened = found->second.version;
  if (request.terms().foreign() != v1::FOREIGN_HANDLE_POSIX_DESCRIPTOR) {
    return absl::FailedPreconditionError(
        "sessions open the collection; only processes outside Holdfast get its "
        "memory by an export");
  }
  if (request.terms().rights() == v1::RIGHTS_READ_WRITE) {
    return absl::PermissionDeniedError(
        "nobody may write to a version of a collection");
  }
  if (opened->version().client != tenant_->name()) {
    return absl::PermissionDeniedError(
        absl::StrCat("the collection belongs to ", opened->version().client,
                     ", whose processes alone map it outside Holdfast"));
  }
  const uint64_t limit = imported.size;
  if (request.offset() > limit || request.size() > limit - request.offset()) {
    return absl::OutOfRangeError(absl::StrCat(request.size(), " bytes at ",
                                              request.offset(),
                                              " of a buffer of ", limit));
  }
  SharedResource part = imported;
  part.offset += request.offset();
  part.size = request.size();
  part.version = opened;
  return part;
}

absl::Status SessionMemory::Commit(const internal::CommitRequest& request,
                                   int descriptor, Answer* answer) {
  HOLDFAST_ASSIGN_OR_RETURN(v1::CommitCollection contents,
                            ReadContents(descriptor));
  if (static_cast<size_t>(request.buffers_size()) >
      collections::kMaxCollectionBuffers) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.buffers_size(),
                     " buffers; limit: ", collections::kMaxCollectionBuffers));
  }
  Seals seals;
  std::vector<std::shared_ptr<const Charge>> charges;
  std::vector<SharedResource> buffers;
  for (const internal::CommittedBuffer& buffer : request.buffers()) {
    HOLDFAST_ASSIGN_OR_RETURN(SharedResource resource, Committed(buffer));
    HOLDFAST_RETURN_IF_ERROR(seals.Add(resource.chunk));
    HOLDFAST_ASSIGN_OR_RETURN(
        charges.emplace_back(),
        resource.chunk->ChargeOnce(*tenant_->collection_bytes()));
    buffers.push_back(std::move(resource));
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      *answer->reply.mutable_collection(),
      services_.collections.Commit(
          tenant_->name(), session_, std::move(contents), std::move(buffers),
          {std::move(charges), tenant_->collections()}));
  seals.Keep();
  return absl::OkStatus();
}

std::shared_ptr<const collections::OpenVersion> SessionMemory::OpenFor(
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
  auto opened = services_.collections.Open(tenant_->name(), session_,
                                           open.name(), open.version());
  return opened.ok() ? *std::move(opened) : nullptr;
}

absl::StatusOr<SessionMemory::Imported> SessionMemory::FindBuffer(
    const internal::OpenRequest& request, v1::CollectionVersion* summary) {
  HOLDFAST_ASSIGN_OR_RETURN(
      auto opened,
      services_.collections.Open(tenant_->name(), session_, request.name(),
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
  return Imported{std::move(resource), std::move(opened), {}};
}

absl::Status SessionMemory::OpenVersionOf(const internal::OpenRequest& request,
                                          Answer* answer) {
  HOLDFAST_RETURN_IF_ERROR(CheckMayImport());
  HOLDFAST_ASSIGN_OR_RETURN(
      Imported imported,
      FindBuffer(request, answer->reply.mutable_collection()));
  return AddImport(std::move(imported), answer);
}

absl::StatusOr<SessionMemory::Imported*> SessionMemory::BufferOfVersion(
    uint64_t import) {
  const auto found = imports_.find(import);
  if (found == imports_.end() || found->second.version == nullptr) {
    return absl::FailedPreconditionError("the buffer is of no collection");
  }
  return &found->second;
}

absl::Status SessionMemory::NoteRead(uint64_t import) {
  HOLDFAST_ASSIGN_OR_RETURN(const Imported* imported, BufferOfVersion(import));
  imported->version->NoteRead();
  return absl::OkStatus();
}

// The import stays, without what it was of, so that a successor of the executor
// knows which addresses it keeps. Only then the version may be suspended: the
// next daemon would find an import that is awake, of memory that is not there.
absl::Status SessionMemory::Sleep(uint64_t import) {
  HOLDFAST_ASSIGN_OR_RETURN(Imported * imported, BufferOfVersion(import));
  imported->chunk_size = imported->resource.chunk->size();
  const auto version = std::exchange(imported->version, nullptr);
  const auto chunk = std::exchange(imported->resource.chunk, nullptr);
  Keep(import, imported);
  return absl::OkStatus();
}

absl::Status SessionMemory::Wake(const internal::WakeRequest& request,
                                 Answer* answer) {
  const auto found = imports_.find(request.import());
  if (found == imports_.end() || !found->second.asleep()) {
    return absl::FailedPreconditionError("the buffer does not sleep");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      Imported imported,
      FindBuffer(request.open(), answer->reply.mutable_collection()));
  Imported& sleeping = found->second;
  const SharedResource& now = imported.resource;
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
  HOLDFAST_RETURN_IF_ERROR(DescribeImport(request.import(), imported, answer));
  imported.kept = std::move(sleeping.kept);
  sleeping = std::move(imported);
  Keep(request.import(), &sleeping);
  return absl::OkStatus();
}

}  // namespace holdfast
