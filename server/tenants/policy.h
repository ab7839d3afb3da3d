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

// A tenant's weight, which is its share of a busy device. The default is 1.
inline constexpr uint32_t kMaxTenantWeight = 1000;

// One tenant of a policy file. Checked when the file is read: names are valid
// and numbers are within bounds.
struct TenantPolicy {
  std::string name;
  v1::Quota quota;
  // On each of its devices; no other tenant can take it.
  uint64_t reserved_device_bytes = 0;
  uint32_t weight = 1;
  std::vector<uint32_t> devices;  // ordinals; empty: all
  // A kernel that runs longer is a fault. 0: as the daemon has it.
  absl::Duration kernel_time_limit = absl::ZeroDuration();
  v1::StreamPriorityClass stream_priorities =
      v1::STREAM_PRIORITY_CLASS_UNSPECIFIED;
  Concurrency concurrency;
  // Who may open its collections until they are configured otherwise.
  v1::Visibility collections;
  // "FILE:LINE:COLUMN: ", of its name, and of the reservation if it has one.
  std::string place;
  std::string reservation_place;
};

// Identities, and for each what it stands for: the number of a tenant.
struct IdentityMap {
  // Numbers count from 0, in the order of Policy::tenants; of operators they
  // have no meaning.
  std::map<uid_t, size_t> users;
  std::map<gid_t, size_t> groups;
  // By subject, common name or alternative name.
  std::map<std::string, size_t> certificates;
  // The keys of signed tokens.
  std::map<std::string, size_t> subjects;
  std::map<std::string, size_t> token_groups;

  // Returns -1 if the identity is not there. A user or subject goes before its
  // groups; of several groups the one whose tenant stands first in the file.
  int64_t Find(const Identity& identity) const;
};

// Who may use the daemon, as what, and how much of it: one file. Immutable.
//
// Read by ReadPolicy (policy_file.h) and given to TenantTable::Apply, which
// replaces the one before.
struct Policy {
  // Identities that nothing names are their own tenants, without a quota; else
  // they are refused.
  bool serves_unnamed = true;
  // Quotas of device memory may be more, in sum, than there is.
  bool overcommit = true;
  std::vector<TenantPolicy> tenants;  // in the order of the file
  // The groups that tenants made by CreateTenant may join, by name, with what
  // such a tenant then has.
  std::map<std::string, Concurrency> temporary_groups;
  IdentityMap tenant_of;
  IdentityMap operators;  // besides the daemon's own user and root
  // Null: no signed token is taken.
  std::shared_ptr<TokenVerifier> tokens;
};

// Returns those of the tenants that have one, in the order of the file.
std::vector<Reservation> ReservationsOf(const Policy& policy);

// Returns how tenants may share an MPS server: those of the policy, and those
// that CreateTenant makes.
std::vector<Concurrency> SharingOf(const Policy& policy);

// Whether CheckDevices needs the sizes of devices.
bool NeedsDevices(const Policy& policy);

// Returns INVALID_ARGUMENT, with the place in the file, if reservations, or
// quotas without overcommit, are more than the devices have, or if a device
// that is reserved is not there. Without sizes nothing is wrong.
absl::Status CheckDevices(const Policy& policy, const DeviceSizes& sizes);

// Returns a quota of device memory in equal parts on the tenant's devices, as
// quotas are compared with devices where there is no overcommit. The parts are
// rounded up, so that their sum is not less than the quota.
Reservation ShareOfQuota(const std::string& tenant,
                         const std::vector<uint32_t>& devices,
                         uint64_t quota_bytes, const DeviceSizes& sizes);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_POLICY_H_
