// SPDX-License-Identifier: Apache-2.0
//
// Functions that read an OpenSessionRequest, and combine it with the limits of
// the daemon and the tenant. They use no thread and no lock.
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_REQUEST_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "proto/protocol_limits.h"
#include "server/tenants/tenant.h"

namespace holdfast::supervisor {

// Requests with another version fail with INVALID_ARGUMENT.
inline constexpr uint32_t kProtocolVersion = 1;
// The longest reconnect_grace.
inline constexpr absl::Duration kMaxGrace = absl::Hours(1);
// The limit of OpenSessionRequest.name.
inline constexpr size_t kMaxSessionName = 128;
// The limit of ClientInfo.program and of ClientInfo.host, in bytes.
inline constexpr size_t kMaxClientInfoBytes = 256;
// The most devices that one request may name.
inline constexpr int kMaxRequestedDevices = 256;

// The daemon's limits for one session; see AccountLimits. 0: no limit.
struct SessionQuotas {
  uint64_t device_bytes = 0;
  uint64_t pinned_bytes = 0;
  uint64_t arena_bytes = 0;
  uint32_t handles = kMaxHandles;  // of each kind
  // The most unfinished commands of the client.
  uint64_t outstanding_commands = 0;
};

// Checks a request. INVALID_ARGUMENT: it is over one of the bounds above, has
// another version, or names a policy that does not exist.
absl::Status CheckRequest(const v1::OpenSessionRequest& request);

// Returns how long the session is to live without any client. `limit` is the
// longest time that the daemon allows a detached session. INVALID_ARGUMENT: the
// request asks for a longer time.
absl::StatusOr<absl::Duration> LifetimeOf(const v1::OpenSessionRequest& request,
                                          absl::Duration limit);
// Returns true if the session may live without a client.
bool IsDetachable(const v1::OpenSessionRequest& request);

// Returns the client's policy, or the default policy if it names none.
v1::RecoveryPolicy PolicyOf(const v1::OpenSessionRequest& request);

// Sets the kernel time limit of the session, and who has set it: the shortest
// of the daemon's limit (`limit`; 0: no limit), the tenant's and the client's.
// INVALID_ARGUMENT: the client's limit is negative.
absl::Status SetKernelTimeLimit(const v1::OpenSessionRequest& request,
                                const Tenant& tenant, absl::Duration limit,
                                internal::Assign* assign);

// Returns the limits of the session: the daemon's limits for one session; for
// device memory, the client's memory_limit if it is less. The tenant's quota,
// which limits all its sessions together, does not lower them: each request for
// memory is checked against it later.
internal::AccountLimits LimitsOf(const v1::OpenSessionRequest& request,
                                 const SessionQuotas& quotas,
                                 const Tenant& tenant);

// Returns the session's name and the client's program for the log, after a
// space; empty if there is neither.
std::string LabelOf(const v1::OpenSessionRequest& request);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_REQUEST_H_
