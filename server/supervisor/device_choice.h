// SPDX-License-Identifier: Apache-2.0
//
// Chooses the devices of a session.
#ifndef HOLDFAST_SERVER_SUPERVISOR_DEVICE_CHOICE_H_
#define HOLDFAST_SERVER_SUPERVISOR_DEVICE_CHOICE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "holdfast/v1/devices.pb.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast::supervisor {

bool IsQuarantined(const v1::Device& device);

// Returns the free bytes of the device; its total memory if they are not known.
uint64_t FreeMemory(const v1::Device& device);

// Returns the devices of `all` with these ordinals, and the driver's
// description unchanged. If `ordinals` is empty, returns all devices.
// NOT_FOUND: none of the devices exists.
absl::StatusOr<v1::ListDevicesResponse> DevicesOfTenant(
    const v1::ListDevicesResponse& all, const std::vector<uint32_t>& ordinals);

// Returns the ordinals that OpenSessionRequest.devices or device_choices name,
// in their order. If both fields are empty, returns all devices that are not in
// quarantine. A choice is an ordinal; "GPU-" or "MIG-" and the beginning of a
// UUID; or "most-free", the device with the most free memory that is not chosen
// yet. NOT_FOUND: a device does not exist; the message names the devices that
// exist. UNAVAILABLE: a named device is in quarantine, or all devices are.
// INVALID_ARGUMENT: a choice is malformed, names a device again, or fits
// several UUIDs; or both fields are set.
absl::StatusOr<std::vector<uint32_t>> ChooseDevices(
    const v1::OpenSessionRequest& request,
    const v1::ListDevicesResponse& devices);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_DEVICE_CHOICE_H_
