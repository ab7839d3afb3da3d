// SPDX-License-Identifier: Apache-2.0
//
// The devices that a session is on. Its client names them by the ordinals that
// they had when it opened the session; a session with one device can be resumed
// on another one later, and is still called by the first one's.
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

// FAILED_PRECONDITION: the session can be resumed where it was and nowhere
// else, and why: it has several devices, or its tenant shares an MPS server.
absl::Status CheckMovable(const internal::Assign& assign, const Tenant& tenant);

// Where a suspended session with one device is to go.
struct PlaceRequest {
  uint32_t named = 0;  // by its client
  uint32_t now = 0;    // it was there
  // An operator asks for this one.
  std::optional<uint32_t> wanted;
};

// Returns the devices to try, the best first; at least one. Without `wanted`
// these are the device that it was on, and then all others of the same kind
// that are not in quarantine, those with most free memory first. If the device
// that it was on is in quarantine it is the last. A device is of the same kind
// if it has the same name and compute capability as the one that the client
// names, and as much memory at least. `all` are the daemon's devices with their
// health, `allowed` the ordinals that the tenant may use; empty: all.
//
// With `wanted` returns that one. NOT_FOUND: it does not exist, or the tenant
// may not use it. UNAVAILABLE: it is in quarantine. FAILED_PRECONDITION: it is
// of another kind, and the difference.
absl::StatusOr<std::vector<uint32_t>> FindPlaces(
    const PlaceRequest& request, const v1::ListDevicesResponse& all,
    const std::vector<uint32_t>& allowed);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_PLACE_H_
