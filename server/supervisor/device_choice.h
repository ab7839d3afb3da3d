// SPDX-License-Identifier: Apache-2.0
//
// Which devices a session gets.
#ifndef HOLDFAST_SERVER_SUPERVISOR_DEVICE_CHOICE_H_
#define HOLDFAST_SERVER_SUPERVISOR_DEVICE_CHOICE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "holdfast/v1/devices.pb.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast::supervisor {

bool IsQuarantined(const v1::Device& device);

// Bytes; all of its memory if it is not known how much is free.
uint64_t FreeMemory(const v1::Device& device);

// The devices of `all` that have these ordinals; all if there are none.
// NOT_FOUND: none of them exists. The driver's description is kept; only
// devices are left out.
absl::StatusOr<v1::ListDevicesResponse> DevicesOfTenant(
    const v1::ListDevicesResponse& all, const std::vector<uint32_t>& ordinals);

// The ordinals that OpenSessionRequest.devices or device_choices name, in their
// order; all devices that are not in quarantine where it has neither.
// NOT_FOUND: one does not exist, and how many there are. UNAVAILABLE: one that
// is named is in quarantine, or all are, and why. INVALID_ARGUMENT: one is
// named twice, a beginning of a UUID fits several, or both fields are set. A
// choice is an ordinal, a UUID or the beginning of one after "GPU-" or "MIG-",
// or "most-free": the device with the most free memory that is not chosen yet.
absl::StatusOr<std::vector<uint32_t>> ChooseDevices(
    const v1::OpenSessionRequest& request,
    const v1::ListDevicesResponse& devices);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_DEVICE_CHOICE_H_
