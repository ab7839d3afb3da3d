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

// Decides who makes a call, and whether it may: the one place that does, and
// that writes the audit log. A bearer token (`authorization: Bearer TOKEN`)
// names a tenant, whoever sends it and over whichever connection: one that
// CreateTenant has made, or a signed one of the policy's issuer. Without one,
// the connection's identity does. Thread-safe.
class Callers {
 public:
  // Longer tokens are refused without a look at them.
  static constexpr size_t kMaxTokenBytes =
      kAuthorizationKey.max_bytes - (sizeof "Bearer " - 1);

  // All must outlive the object.
  Callers(const PeerTable& peers, TenantTable& tenants, AuditLog& audit)
      : peers_(peers), tenants_(tenants), audit_(audit) {}

  // UNAUTHENTICATED: the call has a token, and it is no tenant's.
  // PERMISSION_DENIED: the policy does not name the caller. A refusal is
  // written to the audit log.
  absl::StatusOr<Caller> Of(const grpc::ServerContextBase& context) const;

  // The same for calls that are for operators: the daemon's own user and root
  // on a Unix socket, and those that the policy names; users only on sockets
  // that are for operators, if there are any. PERMISSION_DENIED names
  // `act` ("EndTenant"); `object` is what it is done to, for the audit log. A
  // caller that is none is written there; one that is calls RecordAct later.
  absl::StatusOr<Caller> OperatorOf(const grpc::ServerContextBase& context,
                                    absl::string_view act,
                                    absl::string_view object = "") const;

  // Writes how an operator's act ended into the audit log. Never dropped; see
  // AuditLog.
  void RecordAct(const grpc::ServerContextBase& context, absl::string_view act,
                 absl::string_view object, const absl::Status& outcome) const;

  // Writes there that `caller` was given the session.
  void RecordSession(const grpc::ServerContextBase& context,
                     const Caller& caller, absl::string_view session) const;

  // The tenant and role of an identity with the value of its `authorization`,
  // if there is one. Without `may_operate` it is a user like others, even root.
  // For those that have no ServerContext, and for tests. The result has no
  // peer.
  absl::StatusOr<Caller> Resolve(const Identity& identity,
                                 std::optional<absl::string_view> authorization,
                                 bool may_operate = true) const;

 private:
  // As Of, without the audit log. UNAUTHENTICATED also if there are several
  // authorizations.
  absl::StatusOr<Caller> Identify(const grpc::ServerContextBase& context) const;
  // Writes the refusal to the audit log.
  void Refuse(const grpc::ServerContextBase& context, absl::string_view act,
              absl::string_view object, const absl::Status& status) const;

  const PeerTable& peers_;
  TenantTable& tenants_;
  AuditLog& audit_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_CALLERS_H_
