// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_TENANT_ADMIN_H_
#define HOLDFAST_SERVER_SERVICES_TENANT_ADMIN_H_

#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/v1/admin.pb.h"
#include "server/collections/collection_table.h"
#include "server/supervisor/session_registry.h"
#include "server/tenants/caller.h"
#include "server/tenants/tenant_table.h"

namespace holdfast {

// Creates, ends and lists tenants with their sessions and collections. A thread
// of this object ends tenants whose lifetime is over. Thread-safe.
class TenantAdmin {
 public:
  // All arguments must outlive the object.
  TenantAdmin(TenantTable& tenants, supervisor::SessionRegistry& sessions,
              collections::CollectionTable& collections);
  ~TenantAdmin();
  TenantAdmin(const TenantAdmin&) = delete;
  TenantAdmin& operator=(const TenantAdmin&) = delete;

  // Creates a tenant as TenantTable::Create does, and returns its token. For a
  // tenant with reserved memory, blocks for up to 30 s until the devices are
  // known.
  absl::StatusOr<std::string> Create(const v1::CreateTenantRequest& request);

  // Ends the tenant's sessions and deletes its collections. Blocks until that
  // is done. Returns the tenant's final figures. NOT_FOUND: there is no such
  // tenant.
  absl::StatusOr<v1::TenantInfo> End(const std::string& name,
                                     const std::string& reason);

  // Sets the quota of a tenant as TenantTable::SetQuota does.
  absl::Status SetQuota(const std::string& name, const v1::Quota& quota) {
    return tenants_.SetQuota(name, quota);
  }

  // Returns all tenants to an operator, and its own tenant to another caller.
  v1::ListTenantsResponse List(const Caller& caller) const;

 private:
  void EndExpired();

  TenantTable& tenants_;
  supervisor::SessionRegistry& sessions_;
  collections::CollectionTable& collections_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;  // a lifetime was added
  std::thread expiry_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_TENANT_ADMIN_H_
