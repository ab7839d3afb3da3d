// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_TENANTS_TENANTS_H_
#define HOLDFAST_CLIENT_CPP_TENANTS_TENANTS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "client/cpp/connection/daemon.h"

namespace holdfast {

namespace v1 {
class CreateTenantRequest;
class ListTenantsResponse;
class Quota;
class TenantInfo;
}  // namespace v1

// The tenants of a daemon. Only operators may make, change and end tenants;
// calls of other clients fail with PERMISSION_DENIED. Thread-safe.
class Tenants {
 public:
  explicit Tenants(std::shared_ptr<Daemon> daemon)
      : daemon_(std::move(daemon)) {}

  // Returns the new tenant's bearer token. ALREADY_EXISTS: the name is taken.
  absl::StatusOr<std::string> Create(const v1::CreateTenantRequest& request);

  // Ends a tenant, and reports `reason` to its clients. Blocks until the
  // tenant's sessions and collections have ended. Returns the tenant's final
  // figures. NOT_FOUND: Create made no tenant with this name.
  absl::StatusOr<v1::TenantInfo> End(const std::string& name,
                                     const std::string& reason = "");

  // Replaces the quota of a tenant. The new quota of a tenant that the daemon's
  // policy defines lasts until the policy is loaded again. The quota holds for
  // open sessions at once; resources that exceed it stay. NOT_FOUND: there is
  // no such tenant.
  absl::Status SetQuota(const std::string& name, const v1::Quota& quota);

  // Returns all tenants if the caller is an operator, else only the caller's
  // tenant.
  absl::StatusOr<v1::ListTenantsResponse> List();

 private:
  const std::shared_ptr<Daemon> daemon_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TENANTS_TENANTS_H_
