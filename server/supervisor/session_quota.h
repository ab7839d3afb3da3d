// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_QUOTA_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_QUOTA_H_

#include "absl/status/status.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/admin.pb.h"

namespace holdfast::supervisor {

// INVALID_ARGUMENT: the quota sets a limit that only tenants have: sessions,
// compile_time, compile_requests or collection_bytes.
absl::Status CheckSessionQuota(const v1::Quota& quota);

// Returns the limits of a session that was opened with `limits` and has this
// quota: the smaller of each pair. 0 is no limit. The names in error messages
// tell which limits come from the quota.
internal::AccountLimits Restrict(internal::AccountLimits limits,
                                 const v1::Quota& quota);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_QUOTA_H_
