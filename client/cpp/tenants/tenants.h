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

// The tenants of a daemon. Making and ending them is for operators, else
// PERMISSION_DENIED. Thread-safe.
class Tenants {
 public:
  explicit Tenants(std::shared_ptr<Daemon> daemon)
      : daemon_(std::move(daemon)) {}

  // Returns the new tenant's bearer token. ALREADY_EXISTS: the name is taken.
  absl::StatusOr<std::string> Create(const v1::CreateTenantRequest& request);

  // Returns when nothing of the tenant is left, with what it used. `reason` is
  // shown to its clients. NOT_FOUND: no tenant that Create made has this name.
  absl::StatusOr<v1::TenantInfo> End(const std::string& name,
                                     const std::string& reason = "");

  // Replaces the quota of a tenant of the policy, until that is loaded again,
  // or of one that Create made. Holds for open sessions at once; what is held
  // stays. NOT_FOUND: there is no such tenant.
  absl::Status SetQuota(const std::string& name, const v1::Quota& quota);

  // All tenants for an operator, its own for anybody else.
  absl::StatusOr<v1::ListTenantsResponse> List();

 private:
  const std::shared_ptr<Daemon> daemon_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TENANTS_TENANTS_H_
