// SPDX-License-Identifier: Apache-2.0
//
// The requests of SessionMemory that make and open versions of collections.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/sharing/session_memory.h"

namespace holdfast {
namespace {

// Bytes of a description; it came in one message of a client's.
constexpr size_t kMaxDescription = size_t{4} << 20;

absl::StatusOr<v1::CommitCollection> ReadContents(int descriptor) {
  if (!IsSealed(descriptor)) {
    return absl::InvalidArgumentError("the description is no sealed memfd");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const FileMapping mapping,
      FileMapping::Map(descriptor, FileMapping::Access::kReadOnly));
  v1::CommitCollection contents;
  if (mapping.size() > kMaxDescription ||
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
  if (found != imports_.end() && found->second.version != nullptr) {
    return found->second.resource;
  }
  return absl::FailedPreconditionError(
      "an imported buffer is of no collection");
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
  return part;
}

absl::Status SessionMemory::Commit(const internal::CommitRequest& request,
                                   int descriptor, Answer* answer) {
  HOLDFAST_ASSIGN_OR_RETURN(v1::CommitCollection contents,
                            ReadContents(descriptor));
  if (static_cast<size_t>(request.buffers_size()) > kMaxCollectionBuffers) {
    return absl::InvalidArgumentError(absl::StrCat(
        request.buffers_size(), " buffers; limit: ", kMaxCollectionBuffers));
  }
  Seals seals;
  Charge charge;
  std::vector<SharedResource> buffers;
  for (const internal::CommittedBuffer& buffer : request.buffers()) {
    HOLDFAST_ASSIGN_OR_RETURN(SharedResource resource, Committed(buffer));
    HOLDFAST_RETURN_IF_ERROR(seals.Add(resource.chunk));
    HOLDFAST_ASSIGN_OR_RETURN(Charge more,
                              tenant_->collection_bytes()->Take(resource.size));
    charge.Add(std::move(more));
    buffers.push_back(std::move(resource));
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      *answer->reply.mutable_collection(),
      services_.collections.Commit(
          tenant_->name(), session_, std::move(contents), std::move(buffers),
          {std::move(charge), tenant_->collections()}));
  seals.Keep();
  return absl::OkStatus();
}

absl::Status SessionMemory::OpenVersionOf(const internal::OpenRequest& request,
                                          Answer* answer) {
  HOLDFAST_RETURN_IF_ERROR(CheckMayImport());
  HOLDFAST_ASSIGN_OR_RETURN(
      auto opened,
      services_.collections.Open(tenant_->name(), session_, request.name(),
                                 request.version()));
  const CollectionVersion& version = opened->version();
  if (request.buffer() >= version.buffers.size()) {
    return absl::OutOfRangeError(absl::StrCat("buffer ", request.buffer(),
                                              " of ", version.buffers.size()));
  }
  v1::CollectionVersion& summary = *answer->reply.mutable_collection();
  summary.set_name(request.name());
  summary.set_version(version.number);
  for (const SharedResource& buffer : version.buffers) {
    summary.add_buffer_sizes(buffer.size);
  }
  SharedResource resource = version.buffers[request.buffer()];
  return AddImport({std::move(resource), std::move(opened), {}}, answer);
}

}  // namespace holdfast
