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

  bool Covers(uint32_t device) const;
};

// INVALID_ARGUMENT, with the place: the first reservation that does not fit on
// a device together with earlier ones, or that names a missing device. `verb`
// is for the message: "reserves". OK if `sizes` is empty, because the devices
// are not known.
absl::Status CheckReservations(const std::vector<Reservation>& reservations,
                               const DeviceSizes& sizes,
                               absl::string_view verb);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_RESERVATION_H_
