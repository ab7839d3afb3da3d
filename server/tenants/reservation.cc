// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/reservation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

absl::Status CheckDevices(const Reservation& reservation,
                          const DeviceSizes& sizes) {
  for (const uint32_t device : reservation.devices) {
    if (sizes.contains(device)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(reservation.place, "tenant ", reservation.tenant,
                     " has device ", device, ", which is not there"));
  }
  return absl::OkStatus();
}

}  // namespace

bool Reservation::Covers(uint32_t device) const {
  return devices.empty() ||
         std::find(devices.begin(), devices.end(), device) != devices.end();
}

absl::Status CheckReservations(const std::vector<Reservation>& reservations,
                               const DeviceSizes& sizes,
                               absl::string_view verb) {
  if (sizes.empty()) return absl::OkStatus();
  DeviceSizes taken;
  for (const Reservation& reservation : reservations) {
    if (reservation.bytes == 0) continue;
    HOLDFAST_RETURN_IF_ERROR(CheckDevices(reservation, sizes));
    for (const auto& [device, size] : sizes) {
      if (!reservation.Covers(device)) continue;
      uint64_t& before = taken[device];
      if (reservation.bytes <= size - before) {
        before += reservation.bytes;
        continue;
      }
      return absl::InvalidArgumentError(absl::StrCat(
          reservation.place, "tenant ", reservation.tenant, " ", verb, " ",
          reservation.bytes, " bytes of device ", device, ", which has ", size,
          " bytes; the tenants before it have ", before));
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast
