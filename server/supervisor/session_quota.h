// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_QUOTA_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_QUOTA_H_

#include "absl/status/status.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/admin.pb.h"

namespace holdfast::supervisor {

// Checks a quota for a session. INVALID_ARGUMENT: it sets a limit that only
// tenants have: sessions, compile_time, compile_requests or collection_bytes.
absl::Status CheckSessionQuota(const v1::Quota& quota);

// Returns the limits of a session that was opened with `limits` and has this
// quota: the smaller value for each limit, where 0 means no limit. Names the
// quota in the set_by field of each limit that comes from it, for error
// messages.
internal::AccountLimits Restrict(internal::AccountLimits limits,
                                 const v1::Quota& quota);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_QUOTA_H_
