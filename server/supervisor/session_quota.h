// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_QUOTA_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_QUOTA_H_

#include "absl/status/status.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/admin.pb.h"

namespace holdfast::supervisor {

// INVALID_ARGUMENT: the quota names a limit that tenants have and sessions have
// not. It is one of sessions, compile_time, compile_requests and
// collection_bytes.
absl::Status CheckSessionQuota(const v1::Quota& quota);

// Returns the limits of a session that was opened with `limits` and was given
// this quota by an operator: the less of each. 0 is no limit, in either. Limits
// that come from the quota say so in messages.
internal::AccountLimits Restrict(internal::AccountLimits limits,
                                 const v1::Quota& quota);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_QUOTA_H_
