// SPDX-License-Identifier: Apache-2.0
//
// The memory granted to executors: of each device and of the host, within their
// tenants' quotas and reservations. An executor asks before it takes memory
// (internal.Reserve), and gets all or nothing. A grant counts until it is
// released or the process has ended.
//
// The sums are exact as long as executors ask. A compromised executor could
// take host memory without asking; the limits of its process and of the
// daemon's control group still hold. It is never granted more than its
// session's limit.
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
// The supervisor has one. Each session's MemoryGrants charge their requests to
// the session, its tenant and this ledger.
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
  // sessions without a tenant. The quota has no limit of its own, but asks the
  // shares. Charges of different quotas cannot be added.
  std::shared_ptr<Quota> OnDevice(uint32_t device,
                                  const std::string& tenant) const;

  // Returns a quota for host memory of a tenant that its quota `own` counts as
  // well. It refuses an amount as HostShares::Take, and has no other limit.
  // Charge host() first. Two results are two quotas: their charges cannot be
  // added. Null if host memory is not divided.
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

  // Sums of all sessions, with limits, for administrators.
  void Report(v1::MemoryTotals* totals) const;
  // The figures of each device, with what is reserved for tenants.
  std::map<uint32_t, DeviceShares::Totals> devices() const {
    return shares_->totals();
  }

 private:
  const std::shared_ptr<Quota> host_;
  const std::shared_ptr<DeviceShares> shares_;
  const std::shared_ptr<HostShares> host_shares_;  // null: not divided
};

// The memory granted to one executor, within its session's limits. It is given
// back when the executor ends. Not thread-safe.
//
// Owned by SessionHoldings, under its lock. An executor's numbers are hostile
// input: sums saturate.
class MemoryGrants {
 public:
  // `ledger` must outlive it.
  explicit MemoryGrants(const MemoryLedger& ledger) : ledger_(ledger) {}

  // Begins to grant memory to a session on `devices` devices; 0: all devices.
  // The limit of chunks is twice the session's limit of device bytes, plus
  // 64 MiB a device: for rounding, and for freed memory that is still in use.
  // Host memory, buffers and chunks count against the tenant, if there is one.
  void Open(const internal::AccountLimits& limits, size_t devices,
            std::shared_ptr<Tenant> tenant = nullptr);

  // RESOURCE_EXHAUSTED: over the limit of the session, the tenant or the
  // daemon. FAILED_PRECONDITION: not between Open and Close. NOT_FOUND: there
  // is no such device. INVALID_ARGUMENT: `place` names no memory, or buffers of
  // a session without a tenant. On an error nothing is charged.
  absl::Status Reserve(const internal::MemoryPlace& place, uint64_t bytes);
  // INVALID_ARGUMENT: fewer bytes are granted. Does nothing after Close.
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
  // The executor has released detached memory: its next Release of as many
  // bytes returns nothing. Does nothing if nothing is granted there.
  void Forgive(const internal::MemoryPlace& place, uint64_t bytes);

  // The session is suspended: gives back everything but arenas, which stay.
  void Suspend();

  // The executor has died, and its successor will ask for the same memory
  // again. The grants are reserved for the successor until EndInheritance,
  // which gives back the rest.
  void BeginInheritance();
  void EndInheritance();
  // The successor can reserve `bytes` once without a charge, for memory that
  // was detached.
  void Credit(const internal::MemoryPlace& place, uint64_t bytes);

  // Gives back everything except detached memory, and grants nothing more.
  void Close();

  // Sum over all devices. Leaves `usage` as it is unless open.
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
