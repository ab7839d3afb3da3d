// SPDX-License-Identifier: Apache-2.0
//
// Functions that choose the device on which a suspended session resumes. Only a
// session with one device can be resumed on another device. Its client still
// uses the ordinal of the device on which the session was opened.
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_PLACE_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_PLACE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/devices.pb.h"
#include "server/tenants/tenant.h"

namespace holdfast::supervisor {

// Returns OK if the session can be resumed on another device.
// FAILED_PRECONDITION: the session has several devices, or its tenant shares an
// MPS server.
absl::Status CheckMovable(const internal::Assign& assign, const Tenant& tenant);

// A request to place a suspended session with one device.
struct PlaceRequest {
  uint32_t named = 0;  // the ordinal that its client uses
  uint32_t now = 0;    // the device on which it was last
  // The device that an operator has named.
  std::optional<uint32_t> wanted;
};

// Returns the devices to try, best first; at least one. Without `wanted`, the
// list begins with the device `now`; then come all other devices of the same
// kind that are not in quarantine, by free memory. If `now` is in quarantine,
// it comes last. A device is of the same kind if it has the name and the
// compute capability of the device `named`, and at least as much memory. `all`
// are the daemon's devices with their health. `allowed` are the ordinals that
// the tenant may use; empty: all devices. The device `now` need not be in
// `allowed`.
//
// With `wanted`, returns that device alone. NOT_FOUND: it does not exist, or
// the tenant may not use it. UNAVAILABLE: it is in quarantine.
// FAILED_PRECONDITION: it is of another kind; the message describes the two
// devices.
absl::StatusOr<std::vector<uint32_t>> FindPlaces(
    const PlaceRequest& request, const v1::ListDevicesResponse& all,
    const std::vector<uint32_t>& allowed);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_PLACE_H_
