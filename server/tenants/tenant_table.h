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
// Callers asks it for every call; services for operators change it. Tenants
// that are their own are made when they are first asked for and forgotten when
// nothing holds them.
class TenantTable {
 public:
  // Tenants of CreateTenant at a time.
  static constexpr size_t kMaxTemporary = 4096;

  // Tells `shares` of reservations and checks quotas against its devices; null:
  // there are no devices and no reservations. Serves every identity as its own
  // tenant until a policy is applied.
  explicit TenantTable(std::shared_ptr<DeviceShares> shares = nullptr)
      : shares_(std::move(shares)) {}

  // Replaces the policy: tenants keep what they hold, with their new quotas;
  // one that is gone lives on as long as its sessions. A temporary tenant whose
  // group does not take it any more is in none from then on. ALREADY_EXISTS: a
  // temporary tenant has a name of the policy; INVALID_ARGUMENT: reservations
  // or quotas do not fit the devices. Nothing changes then.
  absl::Status Apply(const Policy& policy);

  // Blocks until the devices are known that Create reserves memory of, until
  // the deadline at most.
  void AwaitDevices(absl::Time deadline) const {
    if (shares_ != nullptr) shares_->AwaitDevices(deadline);
  }

  // Makes a temporary tenant. Returns its bearer token: "holdfast-" and 256
  // random bits in hexadecimal digits. INVALID_ARGUMENT: a bad name or
  // lifetime, or a device twice; ALREADY_EXISTS: the name or the user is taken;
  // RESOURCE_EXHAUSTED: too many, or the devices' memory does not suffice for
  // its reservation, or for its quota without overcommit; FAILED_PRECONDITION:
  // the policy has no such group for it; UNAVAILABLE: the devices are not known
  // yet. The token is not kept, only its hash: it cannot be told again.
  absl::StatusOr<std::string> Create(const v1::CreateTenantRequest& request);

  // From now on temporary tenants are kept for the next daemon; before the
  // first one. The store outlives the table.
  void KeepIn(DescriptorStore* store) { store_ = store; }
  // Takes over one that an earlier daemon has left; errors as those of Create,
  // but a group that the policy does not have for it leaves it in none. Its
  // token and user hold as before.
  absl::Status Adopt(const internal::TenantRecord& record);
  // Returns the tenant of this name, for a session or collection of an earlier
  // daemon: a temporary one, the policy's or one that is its own, to whom
  // `code_owner` belongs.
  std::shared_ptr<Tenant> OfName(const std::string& name,
                                 const std::string& code_owner);

  // From now on the tenant's token and user are not its own any more, and it
  // may open no session. Its name stays taken until Forget. NOT_FOUND: no
  // temporary tenant has the name. May be called again until Forget.
  absl::StatusOr<std::shared_ptr<Tenant>> BeginEnd(absl::string_view name);
  // REQUIRES: BeginEnd. Gives back the tenant's reservation; the name is free
  // then. Does nothing if another tenant has the name by now.
  void Forget(const Tenant& tenant);

  // Replaces the quota of a tenant of the policy, until that is loaded again,
  // or of a temporary one. NOT_FOUND: neither has the name. INVALID_ARGUMENT: a
  // time below 0. RESOURCE_EXHAUSTED: without overcommit, it is too much.
  absl::Status SetQuota(absl::string_view name, const v1::Quota& quota);

  // Whether the policy has this identity among its operators.
  bool NamesOperator(const Identity& identity) const;
  // Returns the tenant that was made for this user, else the policy's, else the
  // identity's own; nullptr if the policy refuses those that it does not name.
  std::shared_ptr<Tenant> Of(const Identity& identity);
  // The same for an operator, who is never refused.
  std::shared_ptr<Tenant> OfOperator(const Identity& identity);
  // Returns nullptr if the token is no tenant's. Takes a time that tells
  // nothing of tokens.
  std::shared_ptr<Tenant> OfToken(absl::string_view token) const;
  // Returns the tenant of the subject of a signed token. UNAUTHENTICATED: the
  // token is not right, or the policy takes none; PERMISSION_DENIED: the policy
  // does not name the subject. REQUIRES: the caller bounds the token's size.
  absl::StatusOr<std::shared_ptr<Tenant>> OfSignedToken(absl::string_view token,
                                                        absl::Time now);

  // Returns the temporary tenants, those of the policy, and those that hold
  // something, by name.
  std::vector<std::shared_ptr<Tenant>> List() const;

  // The sums of all tenants for the next daemon, and those of the daemon
  // before, which this one goes on from.
  void Record(internal::CountersRecord* counters) const;
  // REQUIRES: Apply and Adopt have made the tenants; sums of others are
  // dropped, but for those of kOtherTenants.
  void Add(const internal::CountersRecord& counters);

  // The work of the executors of all tenants that are not the policy's.
  const ExecutionTotals& others() const { return *others_; }
  // The same of what compilers do.
  const CompileBudget& other_compiling() const { return *other_compiling_; }

  // Names of the temporary tenants whose lifetime is over. Those whose end has
  // begun are not among them.
  std::vector<std::string> Expired(absl::Time now) const;
  // When the next lifetime is over. Infinite: there is none.
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
  // The temporary tenant that a record describes, beneath the policy of now.
  Tenant::Options OptionsOf(const internal::TenantRecord& record) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Makes the tenant that a record describes, and keeps that.
  absl::Status Add(const internal::TenantRecord& record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Null: neither CreateTenant nor the policy names the identity.
  std::shared_ptr<Tenant> FindNamed(const Identity& identity) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The tenant that the identity is by itself, made if need be.
  std::shared_ptr<Tenant> Own(const Identity& identity)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Tenant> OwnNamed(const std::string& name,
                                   const std::string& code_owner)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The tenant of this name as the policy has it now, made if need be.
  std::shared_ptr<Tenant> Renew(const TenantPolicy& policy)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // ALREADY_EXISTS or RESOURCE_EXHAUSTED, as Create says.
  absl::Status CheckFree(const v1::CreateTenantRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether temporary tenants may join the group; "" is none.
  absl::Status CheckGroup(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops entries of own_ whose tenants are gone.
  void ForgetUnused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a tenant may have this quota, if there is no overcommit.
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
  // Tenants that are their own, and those of older policies, as long as
  // somebody uses them.
  absl::flat_hash_map<std::string, std::weak_ptr<Tenant>> own_
      ABSL_GUARDED_BY(mutex_);
  size_t forget_at_ ABSL_GUARDED_BY(mutex_) = 64;  // entries of own_
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_TENANT_TABLE_H_
