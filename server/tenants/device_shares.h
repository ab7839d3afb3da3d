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

// Accounts for device memory by tenant: the bytes that a tenant uses on each
// device, and the bytes that are reserved for it.
//
// A tenant holds the larger of its used and its reserved bytes, and all tenants
// together hold no more than the device has. A tenant therefore always gets its
// reservation; other memory goes to the first request. Thread-safe.
class DeviceShares {
 public:
  // The figures of one device, in bytes. `used` may be over `size` after a
  // takeover.
  struct Totals {
    uint64_t size = 0;
    uint64_t used = 0;
    uint64_t reserved = 0;  // whether used or not
  };

  // Adds the devices that are not known yet, and applies the reservations to
  // them. A device is never removed.
  void AddDevices(const DeviceSizes& sizes);
  // Blocks until devices are known, at most until the deadline.
  void AwaitDevices(absl::Time deadline) const;
  // Returns the size of each device in bytes, by ordinal.
  DeviceSizes sizes() const;
  std::map<uint32_t, Totals> totals() const;

  // Charges `bytes` on a device to a tenant; the empty name is a tenant without
  // a reservation. On an error nothing is charged. RESOURCE_EXHAUSTED: the
  // device has too little memory for the tenant; the error names the device,
  // the bytes requested, in use and reserved for other tenants, and the limit,
  // also as a QuotaExceeded. NOT_FOUND: there is no such device.
  absl::Status Take(uint32_t device, const std::string& tenant, uint64_t bytes);
  // While a daemon takes over the sessions of an earlier one, Take refuses no
  // bytes of a known device: memory in use stays, even if it has been reserved
  // for other tenants since.
  void SetTakingOver(bool taking_over);
  // Ends the charge of `bytes`. Has no effect if there is no such device.
  // REQUIRES: these bytes were taken.
  void Return(uint32_t device, const std::string& tenant, uint64_t bytes);

  // Replaces all reservations except those made by Reserve. Memory in use
  // stays. While the tenants hold more than the device has, no tenant gets more
  // than its reservation.
  void SetPolicy(const std::vector<Reservation>& reservations);

  // Adds the reservation of a tenant that has none. RESOURCE_EXHAUSTED: other
  // tenants hold too much of a device. UNAVAILABLE: devices are not known yet.
  // INVALID_ARGUMENT: there is no such device.
  absl::Status Reserve(const Reservation& reservation);
  // Undoes Reserve. Has no effect if the tenant has no such reservation.
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

  // Changes one tenant's share, and the sums by the difference.
  static void Change(Device& device, const std::string& tenant,
                     const std::function<void(Share&)>& change);
  void Add(uint32_t ordinal, uint64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sets the reserved bytes on each known device; to 0 unless `reserve`.
  void Apply(const Reservation& reservation, bool reserve)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  bool taking_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<uint32_t, Device> devices_ ABSL_GUARDED_BY(mutex_);
  std::vector<Reservation> of_policy_ ABSL_GUARDED_BY(mutex_);
  // Reservations of temporary tenants, by name.
  std::map<std::string, Reservation> temporary_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_DEVICE_SHARES_H_
