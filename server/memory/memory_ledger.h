// SPDX-License-Identifier: Apache-2.0
//
// The memory granted to executors: of each device and of the host, within their
// tenants' quotas and reservations. An executor requests memory before it
// allocates it (internal.Reserve); a request is granted as a whole or refused.
// A grant counts until the executor releases it or its process has ended.
//
// The sums are exact as long as executors make these requests. A compromised
// executor could take host memory without a request; the limits of its process
// and of the daemon's control group still hold. No executor is granted more
// than its session's limit.
#ifndef HOLDFAST_SERVER_MEMORY_MEMORY_LEDGER_H_
#define HOLDFAST_SERVER_MEMORY_MEMORY_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/account/quota.h"
#include "server/memory/host_shares.h"
#include "server/tenants/device_shares.h"
#include "server/tenants/tenant.h"

namespace holdfast {

// The memory of all sessions of the daemon, and its limits. Thread-safe.
//
// The supervisor has one ledger. Each session's MemoryGrants charge the
// session, its tenant and this ledger for each grant.
class MemoryLedger {
 public:
  // `host_bytes` limits the host memory of all sessions; 0: no limit. `shares`
  // accounts for device memory by tenant; null: without reservations.
  // `divide_host`: tenants without a quota divide host memory as HostShares
  // says. Otherwise it goes to the first request, for a daemon that serves one
  // user only.
  explicit MemoryLedger(uint64_t host_bytes,
                        std::shared_ptr<DeviceShares> shares = nullptr,
                        bool divide_host = false);
  MemoryLedger(const MemoryLedger&) = delete;
  MemoryLedger& operator=(const MemoryLedger&) = delete;

  // Adds the devices that are not known yet, each with its total memory as the
  // limit. REQUIRES: `ready` is from an executor that no client has used.
  void AddDevices(const internal::Ready& ready);
  // The number of devices that executors have reported.
  size_t device_count() const;
  bool HasDevice(uint32_t device) const;

  // See DeviceShares.
  void SetTakingOver(bool taking_over) { shares_->SetTakingOver(taking_over); }

  // The sum of host memory.
  const std::shared_ptr<Quota>& host() const { return host_; }

  // Returns a quota for a tenant's chunks on a device; an empty name stands for
  // sessions without a tenant. The quota has no limit of its own, but takes
  // each amount from DeviceShares, which may refuse it. Each call makes a new
  // quota; charges of different quotas cannot be added.
  std::shared_ptr<Quota> OnDevice(uint32_t device,
                                  const std::string& tenant) const;

  // Returns a quota for the share of host memory of a tenant; null if host
  // memory is not divided. `own` is the tenant's quota of the same memory. The
  // result refuses an amount as HostShares::Take does, and has no other limit.
  // Each call makes a new quota; charges of different quotas cannot be added.
  // REQUIRES: a caller charges host() before it charges the result.
  std::shared_ptr<Quota> HostOf(const std::string& tenant,
                                std::shared_ptr<const Quota> own) const;

  // Host memory that is charged to host() and to a tenant's share of it.
  struct HostCharge {
    Charge of_all;
    Charge of_tenant;  // empty: the memory is not divided, or has no tenant
  };
  // Charges host memory outside of the grants of a session. `own`: as for
  // HostOf; null: the memory is of no tenant. RESOURCE_EXHAUSTED: host() or the
  // tenant's share has no room.
  absl::StatusOr<HostCharge> TakeHost(const std::string& tenant,
                                      std::shared_ptr<const Quota> own,
                                      uint64_t bytes) const;

  // Writes the sums of all sessions and their limits, for administrators.
  void Report(v1::MemoryTotals* totals) const;
  // Returns the sums of each device, including the memory that is reserved for
  // tenants.
  std::map<uint32_t, DeviceShares::Totals> devices() const {
    return shares_->totals();
  }

 private:
  const std::shared_ptr<Quota> host_;
  const std::shared_ptr<DeviceShares> shares_;
  const std::shared_ptr<HostShares> host_shares_;  // null: not divided
};

// The memory granted to one executor, within its session's limits. The
// destructor returns all grants. Not thread-safe.
//
// SessionHoldings owns this object, and guards it by its lock. An executor's
// numbers are hostile input, so sums saturate.
class MemoryGrants {
 public:
  // `ledger` must outlive this object.
  explicit MemoryGrants(const MemoryLedger& ledger) : ledger_(ledger) {}

  // Begins to grant memory to a session on `devices` devices; 0: all devices.
  // The limit of chunks is twice the session's limit of device bytes, plus 64
  // MiB for each device, because chunks are rounded up and freed memory may
  // still be in use. Host memory, buffers and chunks count against the tenant,
  // if there is one.
  void Open(const internal::AccountLimits& limits, size_t devices,
            std::shared_ptr<Tenant> tenant = nullptr);

  // Grants `bytes` at `place`. RESOURCE_EXHAUSTED: over the limit of the
  // session, the tenant or the daemon. FAILED_PRECONDITION: not between Open
  // and Close. NOT_FOUND: there is no such device. INVALID_ARGUMENT: `place`
  // names no memory, or buffers of a session without a tenant. On an error
  // nothing is charged.
  absl::Status Reserve(const internal::MemoryPlace& place, uint64_t bytes);
  // Returns `bytes` of the grant at `place`. INVALID_ARGUMENT: fewer bytes are
  // granted. Has no effect after Close.
  absl::Status Release(const internal::MemoryPlace& place, uint64_t bytes);

  // Device memory taken out of the grants. While this object lives, it counts
  // for the session (of_session), for the tenant on the device (of_all), and in
  // the tenant's chunks (of_tenant; empty if there is no tenant).
  struct Detached {
    Charge of_session;
    Charge of_all;
    Charge of_tenant = {};
  };
  // Takes `bytes` out of the grants, for memory that may outlive the session.
  // INVALID_ARGUMENT: fewer bytes are granted, or `place` is not a device.
  absl::StatusOr<Detached> Detach(const internal::MemoryPlace& place,
                                  uint64_t bytes);
  // Makes later calls of Release at `place` return `bytes` fewer in total. For
  // detached memory that the executor has freed: the executor releases it, but
  // it is no longer among the grants. Has no effect if nothing is granted at
  // `place`.
  void Forgive(const internal::MemoryPlace& place, uint64_t bytes);

  // Returns all grants except those of arenas, because the session is
  // suspended.
  void Suspend();

  // Sets the grants of an executor that has died aside for its successor, which
  // will request the same memory again. EndInheritance returns what the
  // successor has not reserved.
  void BeginInheritance();
  void EndInheritance();
  // Lets Reserve grant `bytes` at `place` once without a charge, for detached
  // memory that the successor uses again.
  void Credit(const internal::MemoryPlace& place, uint64_t bytes);

  // Returns all grants except detached memory, and ends granting.
  void Close();

  // Sets the granted device memory, summed over all devices, and its limit in
  // `usage`. Leaves `usage` unchanged unless called between Open and Close.
  void ReportReserved(v1::QuotaUsage* usage) const;

 private:
  // The quotas that a grant is charged to, in order.
  using Quotas = std::vector<std::shared_ptr<Quota>>;
  // The charges for one place: one for each of its quotas.
  struct Granted {
    std::vector<Charge> charges;
    std::vector<Charge> inherited;
    uint64_t credit = 0;    // bytes that Reserve does not charge
    uint64_t forgiven = 0;  // bytes that Release does not return

    uint64_t amount() const {
      return charges.empty() ? 0 : charges[0].amount();
    }
  };
  using PlaceKey = std::pair<internal::MemoryPlace::PlaceCase, uint32_t>;

  static PlaceKey KeyOf(const internal::MemoryPlace& place);
  absl::StatusOr<Quotas> QuotasOf(const internal::MemoryPlace& place);
  Quotas QuotasOfHost(internal::HostMemory memory) const;
  const std::shared_ptr<Quota>& OnDevice(uint32_t device);

  const MemoryLedger& ledger_;
  std::shared_ptr<Quota> devices_;  // null: not open
  std::shared_ptr<Quota> host_;
  std::shared_ptr<Tenant> tenant_;
  // The tenant's share of each device that was asked for.
  std::map<uint32_t, std::shared_ptr<Quota>> of_tenant_;
  // The tenant's shares of host memory; null: none.
  std::shared_ptr<Quota> pinned_share_;
  std::shared_ptr<Quota> arena_share_;
  std::map<PlaceKey, Granted> granted_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_MEMORY_MEMORY_LEDGER_H_
