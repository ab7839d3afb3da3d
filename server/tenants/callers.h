// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_CALLERS_H_
#define HOLDFAST_SERVER_TENANTS_CALLERS_H_

#include <grpcpp/server_context.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/metadata.h"
#include "server/identity/identity.h"
#include "server/identity/peer_table.h"
#include "server/tenants/audit_log.h"
#include "server/tenants/caller.h"
#include "server/tenants/tenant_table.h"

namespace holdfast {

// Identifies and authorises the caller of each call, and writes the audit log;
// no other class does either. A bearer token (`authorization: Bearer TOKEN`)
// names a tenant, independently of the connection on which it is sent.
// CreateTenant has made the token, or the policy's issuer has signed it.
// Without a token, the connection's identity determines the tenant.
// Thread-safe.
class Callers {
 public:
  // Longer tokens are refused without being parsed.
  static constexpr size_t kMaxTokenBytes =
      kAuthorizationKey.max_bytes - (sizeof "Bearer " - 1);

  // All arguments must outlive the object.
  Callers(const PeerTable& peers, TenantTable& tenants, AuditLog& audit)
      : peers_(peers), tenants_(tenants), audit_(audit) {}

  // Returns the caller; writes a refusal to the audit log. UNAUTHENTICATED: the
  // call's token belongs to no tenant. PERMISSION_DENIED: the policy does not
  // name the caller.
  absl::StatusOr<Caller> Of(const grpc::ServerContextBase& context) const;

  // Returns the caller of a call that only operators may make. Operators are
  // the daemon's own user and root on a Unix socket, and identities that the
  // policy names. If there are operators' sockets, a user is an operator only
  // there. Writes a refusal with `act` ("EndTenant") and its `object` to the
  // audit log. For an operator, the service calls RecordAct later.
  // PERMISSION_DENIED: the caller is not an operator; the message names `act`.
  absl::StatusOr<Caller> OperatorOf(const grpc::ServerContextBase& context,
                                    absl::string_view act,
                                    absl::string_view object = "") const;

  // Writes the outcome of an operator's act to the audit log, which never drops
  // acts.
  void RecordAct(const grpc::ServerContextBase& context, absl::string_view act,
                 absl::string_view object, const absl::Status& outcome) const;

  // Writes to the audit log that `caller` has got the session.
  void RecordSession(const grpc::ServerContextBase& context,
                     const Caller& caller, absl::string_view session) const;

  // Returns the tenant and role of an identity. `authorization` is the value of
  // this metadata; nullopt: there is none. If `may_operate` is false, even root
  // is not an operator. The result has no peer. For callers without a
  // ServerContext, and for tests.
  absl::StatusOr<Caller> Resolve(const Identity& identity,
                                 std::optional<absl::string_view> authorization,
                                 bool may_operate = true) const;

 private:
  // Like Of, without the audit log. UNAUTHENTICATED: also if the call has
  // several `authorization` values.
  absl::StatusOr<Caller> Identify(const grpc::ServerContextBase& context) const;
  // Returns how this client, who is no operator now, would be one, as the end
  // of a sentence; empty: nothing is known.
  std::string WhyNoOperator(const grpc::ServerContextBase& context) const;
  // Writes the refusal to the audit log.
  void Refuse(const grpc::ServerContextBase& context, absl::string_view act,
              absl::string_view object, const absl::Status& status) const;

  const PeerTable& peers_;
  TenantTable& tenants_;
  AuditLog& audit_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_CALLERS_H_
