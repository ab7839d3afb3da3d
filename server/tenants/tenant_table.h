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

// Stands for all tenants that are not the policy's, in metrics. No tenant has
// this name.
inline constexpr char kOtherTenants[] = "(other)";

// Finds the tenant of each identity and each bearer token. Thread-safe.
//
// Callers looks up the tenant of every call; services for operators change the
// table. An identity that has no entry becomes a tenant of its own with its
// first call, and is forgotten when nothing holds that tenant any more.
class TenantTable {
 public:
  // The most tenants of CreateTenant at a time.
  static constexpr size_t kMaxTemporary = 4096;

  // Tells `shares` of reservations and checks quotas against its devices; null:
  // there are no devices and no reservations. Serves every identity as its own
  // tenant until a policy is applied.
  explicit TenantTable(std::shared_ptr<DeviceShares> shares = nullptr)
      : shares_(std::move(shares)) {}

  // Replaces the policy. Tenants keep their holdings and get their new quotas;
  // a tenant that the new policy lacks lives as long as its sessions. A
  // temporary tenant leaves a group that does not accept it any more.
  // ALREADY_EXISTS: a temporary tenant has a name of the policy.
  // INVALID_ARGUMENT: reservations or quotas do not fit the devices. On an
  // error nothing changes.
  absl::Status Apply(const Policy& policy);

  // Blocks until the devices are known, which Create needs for reservations, or
  // until the deadline.
  void AwaitDevices(absl::Time deadline) const {
    if (shares_ != nullptr) shares_->AwaitDevices(deadline);
  }

  // Makes a temporary tenant. Returns its bearer token: "holdfast-" and 256
  // random bits in hexadecimal digits. INVALID_ARGUMENT: a bad name or
  // lifetime, or a device twice; ALREADY_EXISTS: the name or the user is taken;
  // RESOURCE_EXHAUSTED: too many, or the devices' memory does not suffice for
  // its reservation, or for its quota without overcommit; FAILED_PRECONDITION:
  // the policy has no such group for it; UNAVAILABLE: the devices are not known
  // yet. Only the hash of the token is kept, so it cannot be returned again.
  absl::StatusOr<std::string> Create(const v1::CreateTenantRequest& request);

  // Keeps temporary tenants for the next daemon. REQUIRES: there is no
  // temporary tenant yet. The store outlives the table.
  void KeepIn(DescriptorStore* store) { store_ = store; }
  // Takes over a temporary tenant of an earlier daemon, with its token and
  // user. Fails as Create, except that a tenant whose group the policy lacks is
  // in no group.
  absl::Status Adopt(const internal::TenantRecord& record);
  // Returns the tenant of this name, for a session or collection of an earlier
  // daemon: the temporary tenant, else the policy's, else a tenant of its own
  // with this code owner.
  std::shared_ptr<Tenant> OfName(const std::string& name,
                                 const std::string& code_owner);

  // Begins the end of a temporary tenant: its token and user are free, and it
  // cannot open sessions. Its name stays taken until Forget. Can be called
  // again until then. NOT_FOUND: no temporary tenant has the name.
  absl::StatusOr<std::shared_ptr<Tenant>> BeginEnd(absl::string_view name);
  // Gives back the tenant's reservation and its name. Does nothing if another
  // tenant has the name by now. REQUIRES: BeginEnd was called.
  void Forget(const Tenant& tenant);

  // Replaces the quota of a temporary tenant, or of a tenant of the policy
  // until the policy is loaded again. NOT_FOUND: no such tenant.
  // INVALID_ARGUMENT: a time below 0. RESOURCE_EXHAUSTED: without overcommit,
  // the devices' memory does not suffice.
  absl::Status SetQuota(absl::string_view name, const v1::Quota& quota);

  // Returns true if the policy names this identity as an operator.
  bool NamesOperator(const Identity& identity) const;
  // Returns the temporary tenant of this user, else the policy's tenant, else
  // the identity's own. nullptr: the policy refuses identities that it does not
  // name.
  std::shared_ptr<Tenant> Of(const Identity& identity);
  // As Of, for an operator, who is never refused.
  std::shared_ptr<Tenant> OfOperator(const Identity& identity);
  // Returns the tenant of the bearer token; nullptr: no tenant has it. The time
  // that it takes reveals nothing about tokens.
  std::shared_ptr<Tenant> OfToken(absl::string_view token) const;
  // Returns the tenant of the subject of a signed token. UNAUTHENTICATED: the
  // token is not valid, or the policy accepts no signed tokens.
  // PERMISSION_DENIED: the policy does not name the subject. REQUIRES: the
  // caller bounds the token's size.
  absl::StatusOr<std::shared_ptr<Tenant>> OfSignedToken(absl::string_view token,
                                                        absl::Time now);

  // Returns the temporary tenants, the policy's tenants, and every other tenant
  // with holdings, by name.
  std::vector<std::shared_ptr<Tenant>> List() const;

  // Record writes the counters of all tenants for the next daemon; Add begins
  // with the counters of the daemon before.
  void Record(internal::CountersRecord* counters) const;
  // REQUIRES: Apply and Adopt have made the tenants. Counters of unknown
  // tenants are dropped, except those of kOtherTenants.
  void Add(const internal::CountersRecord& counters);

  // The work of the executors of all tenants that are not the policy's.
  const ExecutionTotals& others() const { return *others_; }
  // The work of compilers for the same tenants.
  const CompileBudget& other_compiling() const { return *other_compiling_; }

  // Returns the names of the temporary tenants whose lifetime is over and whose
  // end has not begun.
  std::vector<std::string> Expired(absl::Time now) const;
  // Returns the end of the lifetime that ends first. Infinite: there is none.
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
  // Keeps the record as it is now for the next daemon; replaces an earlier one.
  void Keep(Temporary& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the options of the tenant that a record describes, as the present
  // policy allows.
  Tenant::Options OptionsOf(const internal::TenantRecord& record) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Makes the tenant that a record describes, and keeps the record.
  absl::Status Add(const internal::TenantRecord& record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Null: neither CreateTenant nor the policy names the identity.
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
  // OK: temporary tenants may join the group, or the name is empty.
  absl::Status CheckGroup(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops entries of own_ whose tenants are gone.
  void ForgetUnused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // RESOURCE_EXHAUSTED: a tenant cannot have this quota without overcommit.
  absl::Status CheckOvercommit(const std::string& name,
                               const std::vector<uint32_t>& devices,
                               uint64_t quota_bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reserves what the request asks for. UNIMPLEMENTED: the table has no shares.
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
  // By the token's SHA-256.
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
