// SPDX-License-Identifier: Apache-2.0
//
// The commit of a collection by a session. Nobody may write to the memory of a
// version, so its chunks are sealed first. If the commit fails, the chunks that
// it has sealed are unsealed again.
#ifndef HOLDFAST_SERVER_HOLDINGS_COLLECTION_COMMIT_H_
#define HOLDFAST_SERVER_HOLDINGS_COLLECTION_COMMIT_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/collections.pb.h"
#include "server/collections/collection_table.h"
#include "server/sharing/export_registry.h"
#include "server/tenants/tenant.h"

namespace holdfast {

// Returns the memory of a buffer of the version.
using FindCommitted = absl::FunctionRef<absl::StatusOr<SharedResource>(
    const internal::CommittedBuffer&)>;

// Commits the version that `request` and `description` describe, and returns
// its name and number. `description` is a sealed memfd with a
// v1.CommitCollection, and is borrowed. Charges each chunk to the tenant once.
// Runs under the lock of the session's holdings. INVALID_ARGUMENT: the
// description is malformed or too long, or there are too many buffers.
// RESOURCE_EXHAUSTED: the tenant's collections exceed its quota. Also fails as
// `find`, SharedChunk::Seal and CollectionTable::Commit.
absl::StatusOr<v1::CollectionVersion> CommitCollection(
    collections::CollectionTable& table, const std::string& session,
    Tenant& tenant, const internal::CommitRequest& request, int description,
    FindCommitted find);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_COLLECTION_COMMIT_H_
