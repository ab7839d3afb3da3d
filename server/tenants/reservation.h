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

// Device memory that a tenant is promised: `bytes` on each of its devices.
struct Reservation {
  std::string tenant;
  std::vector<uint32_t> devices;  // ordinals; empty: all
  uint64_t bytes = 0;
  std::string place;  // "FILE:LINE:COLUMN: ", if a file says it

  bool Covers(uint32_t device) const;
};

// Returns INVALID_ARGUMENT, with the place, for the first reservation that does
// not fit on a device beside those before it, or that names a device that is
// not there. `verb` says what a tenant does with the bytes: "reserves". Without
// sizes nothing is known of the devices and nothing is wrong.
absl::Status CheckReservations(const std::vector<Reservation>& reservations,
                               const DeviceSizes& sizes,
                               absl::string_view verb);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_RESERVATION_H_
