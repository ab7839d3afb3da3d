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

// Makes, ends and lists tenants with all that is theirs. A thread of its own
// ends those whose lifetime is over. Thread-safe.
class TenantAdmin {
 public:
  // All must outlive the object.
  TenantAdmin(TenantTable& tenants, supervisor::SessionRegistry& sessions,
              collections::CollectionTable& collections);
  ~TenantAdmin();
  TenantAdmin(const TenantAdmin&) = delete;
  TenantAdmin& operator=(const TenantAdmin&) = delete;

  // As TenantTable::Create. Returns the token. Blocks with a reservation until
  // the devices are known, which is soon after the daemon's start.
  absl::StatusOr<std::string> Create(const v1::CreateTenantRequest& request);

  // Ends the tenant's sessions and deletes its collections; returns when
  // nothing is left of it, with what it used. NOT_FOUND: there is none.
  absl::StatusOr<v1::TenantInfo> End(const std::string& name,
                                     const std::string& reason);

  // As TenantTable::SetQuota.
  absl::Status SetQuota(const std::string& name, const v1::Quota& quota) {
    return tenants_.SetQuota(name, quota);
  }

  // All tenants, or the caller's own if it is no operator.
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
