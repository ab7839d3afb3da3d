// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_DEVICE_SHARES_H_
#define HOLDFAST_SERVER_TENANTS_DEVICE_SHARES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/tenants/reservation.h"

namespace holdfast {

// Accounts for device memory by tenant: the bytes that each uses of each
// device, and those that are reserved for it whether it uses them or not.
//
// A tenant holds the larger of both, and all tenants together hold at most the
// device. So a tenant always gets what is reserved for it, and memory that is
// reserved for none goes to the one that asks first. Thread-safe.
class DeviceShares {
 public:
  // The figures of one device, in bytes. `used` may be over `size` after a
  // takeover.
  struct Totals {
    uint64_t size = 0;
    uint64_t used = 0;
    uint64_t reserved = 0;  // used or not
  };

  // Adds the devices that are not known yet. With the reservations that apply
  // to them. A device is never removed.
  void AddDevices(const DeviceSizes& sizes);
  // Blocks until devices are known, until the deadline at most.
  void AwaitDevices(absl::Time deadline) const;
  // A copy: the bytes of each device, by ordinal.
  DeviceSizes sizes() const;
  std::map<uint32_t, Totals> totals() const;

  // Charges a tenant, all or nothing. RESOURCE_EXHAUSTED names the device, the
  // bytes asked for and in use, what is reserved for other tenants, and the
  // limit, also as a QuotaExceeded. NOT_FOUND: there is no such device. A
  // tenant without a name is one like others, without a reservation.
  absl::Status Take(uint32_t device, const std::string& tenant, uint64_t bytes);
  // While a daemon takes over what an earlier one has left, Take refuses
  // nothing of a device that is there: memory that is held stays, whatever was
  // reserved for others in between.
  void SetTakingOver(bool taking_over);
  // REQUIRES: so much was taken. Does nothing if there is no such device.
  void Return(uint32_t device, const std::string& tenant, uint64_t bytes);

  // Replaces all reservations but those that Reserve has made. Memory that is
  // held stays where it is: if more is held than the device has now, nobody
  // gets more than is reserved for it.
  void SetPolicy(const std::vector<Reservation>& reservations);

  // Adds the reservation of a tenant that has none. RESOURCE_EXHAUSTED: others
  // hold too much of a device. UNAVAILABLE: devices are not known yet.
  // INVALID_ARGUMENT: there is no such device.
  absl::Status Reserve(const Reservation& reservation);
  // No effect if Reserve has made none for the tenant.
  void Release(const std::string& tenant);

 private:
  struct Share {
    uint64_t used = 0;
    uint64_t reserved = 0;
  };
  struct Device {
    Totals totals;
    uint64_t held = 0;  // sum over tenants of the larger of used and reserved
    // Tenants that use nothing and have no reservation have no entry.
    std::map<std::string, Share> shares;
  };

  // Changes one tenant's share and the sums with it. `held` is kept by the
  // difference.
  static void Change(Device& device, const std::string& tenant,
                     const std::function<void(Share&)>& change);
  void Add(uint32_t ordinal, uint64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sets what is reserved on each known device; to 0 unless `reserve`.
  void Apply(const Reservation& reservation, bool reserve)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  bool taking_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<uint32_t, Device> devices_ ABSL_GUARDED_BY(mutex_);
  std::vector<Reservation> of_policy_ ABSL_GUARDED_BY(mutex_);
  // Those of temporary tenants, by name.
  std::map<std::string, Reservation> temporary_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_DEVICE_SHARES_H_
