// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_POLICY_H_
#define HOLDFAST_SERVER_TENANTS_POLICY_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "holdfast/v1/admin.pb.h"
#include "holdfast/v1/collections.pb.h"
#include "server/identity/identity.h"
#include "server/tenants/concurrency.h"
#include "server/tenants/reservation.h"
#include "server/tenants/token_verifier.h"

namespace holdfast {

// The largest weight of a tenant. The weight is the tenant's share of a busy
// device in relation to other tenants; the default is 1.
inline constexpr uint32_t kMaxTenantWeight = 1000;

// One tenant of a policy file. Checked when the file is read: names are valid
// and numbers are within bounds.
struct TenantPolicy {
  std::string name;
  v1::Quota quota;
  // The memory on each of its devices that no other tenant can take.
  uint64_t reserved_device_bytes = 0;
  uint32_t weight = 1;
  std::vector<uint32_t> devices;  // ordinals; empty: all
  // A kernel that runs longer is a fault. 0: the daemon's limit.
  absl::Duration kernel_time_limit = absl::ZeroDuration();
  v1::StreamPriorityClass stream_priorities =
      v1::STREAM_PRIORITY_CLASS_UNSPECIFIED;
  Concurrency concurrency;
  // The visibility of its collections unless they are configured otherwise.
  v1::Visibility collections;
  // True if its sessions may give device memory to processes outside Holdfast.
  // Memory that such a process keeps mapped after it has closed its connection
  // counts in no quota.
  bool foreign_exports = true;
  // "FILE:LINE:COLUMN: " of its name in the policy file, and of its reservation
  // if it has one.
  std::string place;
  std::string reservation_place;
};

// Maps identities to the numbers of tenants.
struct IdentityMap {
  // Numbers count from 0, in the order of Policy::tenants. They have no meaning
  // for operators.
  std::map<uid_t, size_t> users;
  std::map<gid_t, size_t> groups;
  // The key is a subject, a common name or an alternative name.
  std::map<std::string, size_t> certificates;
  // The subjects and groups of signed tokens.
  std::map<std::string, size_t> subjects;
  std::map<std::string, size_t> token_groups;

  // Returns the tenant's number; -1 if the identity is not in the map. The
  // entry of a user or subject has precedence over the entries of its groups.
  // If several groups have entries, returns the tenant that is first in the
  // file.
  int64_t Find(const Identity& identity) const;
};

// The contents of a policy file: tenants, operators and their limits.
// Immutable.
//
// ReadPolicy (policy_file.h) reads it, and TenantTable::Apply makes it take
// effect.
struct Policy {
  // True: an identity without an entry is its own tenant, without a quota.
  // False: it is refused.
  bool serves_unnamed = true;
  // True: the sum of the quotas of device memory may exceed the devices'
  // memory.
  bool overcommit = true;
  // The value of foreign_exports for tenants whose table does not set it, and
  // for tenants that have no table.
  bool foreign_exports = true;
  std::vector<TenantPolicy> tenants;  // in the order of the file
  // The groups that tenants of CreateTenant may join, by name, with the setting
  // for such a tenant.
  std::map<std::string, Concurrency> temporary_groups;
  IdentityMap tenant_of;
  IdentityMap operators;  // in addition to the daemon's own user and root
  // Null: signed tokens are not accepted.
  std::shared_ptr<TokenVerifier> tokens;
};

// Returns the reservations of the tenants, in the order of the file.
std::vector<Reservation> ReservationsOf(const Policy& policy);

// Returns the settings of all tenants that may share an MPS server: of the
// policy's tenants, and of tenants of CreateTenant.
std::vector<Concurrency> SharingOf(const Policy& policy);

// Returns true if CheckDevices needs the sizes of devices.
bool NeedsDevices(const Policy& policy);

// Compares the policy with the devices. INVALID_ARGUMENT, with the place in the
// file: the reservations, or the quotas without overcommit, exceed the devices'
// memory, or a reserved device does not exist. Returns OK if `sizes` is empty.
absl::Status CheckDevices(const Policy& policy, const DeviceSizes& sizes);

// Returns a quota of device memory split into equal parts on the tenant's
// devices, for the check without overcommit. The parts are rounded up, so that
// their sum is not less than the quota.
Reservation ShareOfQuota(const std::string& tenant,
                         const std::vector<uint32_t>& devices,
                         uint64_t quota_bytes, const DeviceSizes& sizes);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_POLICY_H_
