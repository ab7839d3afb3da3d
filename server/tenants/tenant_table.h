// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_TENANT_TABLE_H_
#define HOLDFAST_SERVER_TENANTS_TENANT_TABLE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "holdfast/internal/restart.pb.h"
#include "holdfast/v1/admin.pb.h"
#include "server/counters/execution_totals.h"
#include "server/identity/identity.h"
#include "server/kept/descriptor_store.h"
#include "server/tenants/compile_budget.h"
#include "server/tenants/device_shares.h"
#include "server/tenants/policy.h"
#include "server/tenants/tenant.h"

namespace holdfast {

// The name that stands for all tenants that are not the policy's, in metrics.
// No tenant has this name.
inline constexpr char kOtherTenants[] = "(other)";

// Finds the tenant of each identity and each bearer token. Thread-safe.
//
// The class Callers looks up the tenant of every call; services for operators
// change the table. The first call of an identity that has no entry makes a
// tenant for this identity alone. The table forgets such a tenant when nothing
// holds it any more.
class TenantTable {
 public:
  // The most tenants of CreateTenant at a time.
  static constexpr size_t kMaxTemporary = 4096;

  // Writes reservations to `shares`, and checks quotas against its devices;
  // null: there are no devices and no reservations. Until a policy is applied,
  // every identity is its own tenant.
  explicit TenantTable(std::shared_ptr<DeviceShares> shares = nullptr)
      : shares_(std::move(shares)) {}

  // Replaces the policy. Tenants keep the memory that they hold, and get their
  // new quotas; a tenant that the new policy lacks exists as long as its
  // sessions. A temporary tenant leaves a group that does not accept it any
  // more. ALREADY_EXISTS: a temporary tenant has a name of the policy.
  // INVALID_ARGUMENT: reservations or quotas do not fit the devices. On an
  // error nothing changes.
  absl::Status Apply(const Policy& policy);

  // Blocks until the devices are known, which Create needs for reservations, or
  // until the deadline.
  void AwaitDevices(absl::Time deadline) const {
    if (shares_ != nullptr) shares_->AwaitDevices(deadline);
  }

  // Makes a temporary tenant. Returns its bearer token: "holdfast-" and 256
  // random bits in hexadecimal digits. Only the hash of the token is stored, so
  // the token cannot be returned again. INVALID_ARGUMENT: the name or the
  // lifetime is not valid, or a device is named twice. ALREADY_EXISTS: the name
  // or the user is taken. RESOURCE_EXHAUSTED: there are too many temporary
  // tenants, or the devices' memory does not suffice for the reservation, or
  // for the quota without overcommit. FAILED_PRECONDITION: the policy has no
  // such group for temporary tenants. UNAVAILABLE: the devices are not known
  // yet.
  absl::StatusOr<std::string> Create(const v1::CreateTenantRequest& request);

  // Makes the table keep temporary tenants in `store`, for the next daemon.
  // REQUIRES: there is no temporary tenant yet; the store outlives the table.
  void KeepIn(DescriptorStore* store) { store_ = store; }
  // Takes over a temporary tenant of an earlier daemon, with its token and
  // user. Returns the errors of Create, except that a tenant whose group the
  // policy lacks is put in no group.
  absl::Status Adopt(const internal::TenantRecord& record);
  // Returns the tenant of this name, for a session or collection of an earlier
  // daemon: the temporary tenant, else the policy's, else a tenant of its own
  // with this code owner.
  std::shared_ptr<Tenant> OfName(const std::string& name,
                                 const std::string& code_owner);

  // Begins the end of a temporary tenant, and returns the tenant. Its token is
  // not accepted any more, its user is free, and it cannot open sessions. Its
  // name stays taken until Forget. May be called again until then. NOT_FOUND:
  // no temporary tenant has the name.
  absl::StatusOr<std::shared_ptr<Tenant>> BeginEnd(absl::string_view name);
  // Releases the tenant's reservation and its name. Has no effect if another
  // tenant has the name by now. REQUIRES: BeginEnd was called.
  void Forget(const Tenant& tenant);

  // Replaces the quota of a temporary tenant, or of a tenant of the policy
  // until the policy is loaded again. NOT_FOUND: there is no such tenant.
  // INVALID_ARGUMENT: a time is below 0. RESOURCE_EXHAUSTED: without
  // overcommit, the devices' memory does not suffice.
  absl::Status SetQuota(absl::string_view name, const v1::Quota& quota);

  // Returns true if the policy names this identity as an operator.
  bool NamesOperator(const Identity& identity) const;
  // Returns the temporary tenant of this user, else the policy's tenant, else
  // the identity's own tenant. Null: the policy refuses identities that it does
  // not name.
  std::shared_ptr<Tenant> Of(const Identity& identity);
  // Like Of, for an operator. Never returns null.
  std::shared_ptr<Tenant> OfOperator(const Identity& identity);
  // Returns the tenant of the bearer token; null: no tenant has this token. The
  // time of the look-up reveals nothing about tokens.
  std::shared_ptr<Tenant> OfToken(absl::string_view token) const;
  // Returns the tenant of the subject of a signed token. UNAUTHENTICATED: the
  // token is not valid, or the policy accepts no signed tokens.
  // PERMISSION_DENIED: the policy does not name the subject. REQUIRES: the
  // caller bounds the token's size.
  absl::StatusOr<std::shared_ptr<Tenant>> OfSignedToken(absl::string_view token,
                                                        absl::Time now);

  // Returns the temporary tenants, the policy's tenants, and every other tenant
  // that something holds, by name.
  std::vector<std::shared_ptr<Tenant>> List() const;

  // Writes the counters of all tenants, for the next daemon.
  void Record(internal::CountersRecord* counters) const;
  // Adds the counters of the earlier daemon. Drops counters of unknown tenants,
  // except those of kOtherTenants. REQUIRES: Apply and Adopt have made the
  // tenants.
  void Add(const internal::CountersRecord& counters);

  // Returns the counters of the work of executors of all tenants that are not
  // the policy's.
  const ExecutionTotals& others() const { return *others_; }
  // Returns the compile budget of the same tenants, which counts compilers'
  // work for them.
  const CompileBudget& other_compiling() const { return *other_compiling_; }

  // Returns the names of the temporary tenants whose lifetime is over and whose
  // end has not begun.
  std::vector<std::string> Expired(absl::Time now) const;
  // Returns the end of the lifetime that ends first; infinite: no tenant has
  // one.
  absl::Time next_end() const;

 private:
  // A tenant of CreateTenant, with all ways to find it.
  struct Temporary {
    std::shared_ptr<Tenant> tenant;
    std::string token_hash;
    std::optional<uid_t> uid;
    absl::Time end = absl::InfiniteFuture();
    internal::TenantRecord record;
    uint64_t kept_number = 0;
    DescriptorStore::Kept kept;
  };
  // Returns the error for a name that no temporary tenant has.
  absl::Status NotTemporary(absl::string_view name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Keeps the present record for the next daemon; replaces an earlier record.
  void Keep(Temporary& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the options of the tenant that a record describes, as the present
  // policy allows.
  Tenant::Options OptionsOf(const internal::TenantRecord& record) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Makes the tenant that a record describes, and keeps the record.
  absl::Status Add(const internal::TenantRecord& record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Returns the tenant that CreateTenant or the policy names for the identity;
  // null: there is none.
  std::shared_ptr<Tenant> FindNamed(const Identity& identity) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the identity's own tenant; makes it if there is none.
  std::shared_ptr<Tenant> Own(const Identity& identity)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Tenant> OwnNamed(const std::string& name,
                                   const std::string& code_owner)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the policy's tenant of this name, updated; makes it if there is
  // none.
  std::shared_ptr<Tenant> Renew(const TenantPolicy& policy)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // ALREADY_EXISTS or RESOURCE_EXHAUSTED, as for Create.
  absl::Status CheckFree(const v1::CreateTenantRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns OK if temporary tenants may join the group, or the name is empty.
  // FAILED_PRECONDITION: they may not.
  absl::Status CheckGroup(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops entries of own_ whose tenants do not exist any more.
  void ForgetUnused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Checks a quota if there is no overcommit. RESOURCE_EXHAUSTED: the devices'
  // memory does not suffice for it.
  absl::Status CheckOvercommit(const std::string& name,
                               const std::vector<uint32_t>& devices,
                               uint64_t quota_bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reserves the device memory of the request. UNIMPLEMENTED: the table has no
  // DeviceShares.
  absl::Status Reserve(const v1::CreateTenantRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<DeviceShares> shares_;
  const std::shared_ptr<ExecutionTotals> others_ =
      std::make_shared<ExecutionTotals>();
  const std::shared_ptr<CompileBudget> other_compiling_ =
      std::make_shared<CompileBudget>("(other)", CompileBudget::Limits());
  DescriptorStore* store_ = nullptr;  // null: nothing is kept
  mutable absl::Mutex mutex_;
  uint64_t made_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_kept_ ABSL_GUARDED_BY(mutex_) = 0;  // numbers of records
  std::map<std::string, Temporary, std::less<>> temporary_
      ABSL_GUARDED_BY(mutex_);
  // The key is the token's SHA-256.
  absl::flat_hash_map<std::string, std::shared_ptr<Tenant>> by_token_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uid_t, std::shared_ptr<Tenant>> by_uid_
      ABSL_GUARDED_BY(mutex_);
  Policy policy_ ABSL_GUARDED_BY(mutex_);
  // In the policy's order.
  std::vector<std::shared_ptr<Tenant>> named_ ABSL_GUARDED_BY(mutex_);
  // Tenants of their own, and tenants of older policies, while they are in use.
  absl::flat_hash_map<std::string, std::weak_ptr<Tenant>> own_
      ABSL_GUARDED_BY(mutex_);
  size_t forget_at_ ABSL_GUARDED_BY(mutex_) = 64;  // entries of own_
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_TENANT_TABLE_H_
