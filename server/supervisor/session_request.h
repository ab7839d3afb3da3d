// SPDX-License-Identifier: Apache-2.0
//
// What a client asks for its new session, put together with what the daemon and
// the tenant allow. Functions of the request alone: no thread, no lock.
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
// Bytes of ClientInfo.program and .host each.
inline constexpr size_t kMaxClientInfoBytes = 256;
// Devices that one request may name.
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

// INVALID_ARGUMENT: the request is over one of the bounds above, or names a
// policy that does not exist.
absl::Status CheckRequest(const v1::OpenSessionRequest& request);

// Returns how long the session is to live without any client. `limit` is the
// longest time that the daemon allows a detached session. INVALID_ARGUMENT: the
// request asks for more.
absl::StatusOr<absl::Duration> LifetimeOf(const v1::OpenSessionRequest& request,
                                          absl::Duration limit);
// Returns true if the session may live without a client.
bool IsDetachable(const v1::OpenSessionRequest& request);

// Returns the client's policy, or the default policy if it names none.
v1::RecoveryPolicy PolicyOf(const v1::OpenSessionRequest& request);

// Sets the shortest of the daemon's limit (`limit`; 0: none), the tenant's and
// the client's, and who has set it. INVALID_ARGUMENT: the client's is negative.
absl::Status SetKernelTimeLimit(const v1::OpenSessionRequest& request,
                                const Tenant& tenant, absl::Duration limit,
                                internal::Assign* assign);

// Returns the least of what the client asks for and what the daemon allows a
// session. The tenant's quota, over all its sessions, is granted as they ask.
internal::AccountLimits LimitsOf(const v1::OpenSessionRequest& request,
                                 const SessionQuotas& quotas,
                                 const Tenant& tenant);

// Returns the session's name and the client's program for the log, after a
// space; empty if there is neither.
std::string LabelOf(const v1::OpenSessionRequest& request);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_REQUEST_H_
