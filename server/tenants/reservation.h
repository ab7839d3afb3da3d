// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_RESERVATION_H_
#define HOLDFAST_SERVER_TENANTS_RESERVATION_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// The size of each device by its ordinal, in bytes.
using DeviceSizes = std::map<uint32_t, uint64_t>;

// Device memory reserved for a tenant: `bytes` on each of its devices.
struct Reservation {
  std::string tenant;
  std::vector<uint32_t> devices;  // ordinals; empty: all
  uint64_t bytes = 0;
  std::string place;  // "FILE:LINE:COLUMN: " if it is from a file

  // Returns true if the reservation is on this device.
  bool Covers(uint32_t device) const;
};

// Checks that the reservations fit on the devices. INVALID_ARGUMENT: a
// reservation does not fit on a device together with earlier reservations, or
// names a missing device; the message has the place of the first such
// reservation. `verb` is for the message: "reserves". Returns OK if `sizes` is
// empty, because the devices are not known.
absl::Status CheckReservations(const std::vector<Reservation>& reservations,
                               const DeviceSizes& sizes,
                               absl::string_view verb);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_RESERVATION_H_
