// SPDX-License-Identifier: Apache-2.0
#include "server/holdings/collection_commit.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/account/quota.h"
#include "server/sharing/shared_chunk.h"

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

absl::StatusOr<v1::CollectionVersion> CommitCollection(
    collections::CollectionTable& table, const std::string& session,
    Tenant& tenant, const internal::CommitRequest& request, int description,
    FindCommitted find) {
  HOLDFAST_ASSIGN_OR_RETURN(v1::CommitCollection contents,
                            ReadContents(description));
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
    HOLDFAST_ASSIGN_OR_RETURN(SharedResource resource, find(buffer));
    HOLDFAST_RETURN_IF_ERROR(seals.Add(resource.chunk));
    HOLDFAST_ASSIGN_OR_RETURN(
        charges.emplace_back(),
        resource.chunk->ChargeOnce(*tenant.collection_bytes()));
    buffers.push_back(std::move(resource));
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      v1::CollectionVersion version,
      table.Commit(tenant.name(), session, std::move(contents),
                   std::move(buffers),
                   {std::move(charges), tenant.collections()}));
  seals.Keep();
  return version;
}

}  // namespace holdfast
