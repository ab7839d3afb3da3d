// SPDX-License-Identifier: Apache-2.0
//
// The commit of a collection by a session. Nobody may write to a version's
// memory, so its chunks are sealed first; if the commit fails, the seals that
// it has set are undone.
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

// Finds the memory of a buffer of the version.
using FindCommitted = absl::FunctionRef<absl::StatusOr<SharedResource>(
    const internal::CommittedBuffer&)>;

// Commits the version that `request` and the sealed memfd `description`
// describe. Charges the tenant once for each chunk. Runs under the lock of the
// session's holdings. INVALID_ARGUMENT: the description is malformed or too
// long, or there are too many buffers. Also fails as `find` and
// CollectionTable::Commit.
absl::StatusOr<v1::CollectionVersion> CommitCollection(
    collections::CollectionTable& table, const std::string& session,
    Tenant& tenant, const internal::CommitRequest& request, int description,
    FindCommitted find);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_COLLECTION_COMMIT_H_
