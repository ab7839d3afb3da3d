// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HOLDINGS_ASSIGNED_DEVICES_H_
#define HOLDFAST_SERVER_HOLDINGS_ASSIGNED_DEVICES_H_

#include <cstdint>
#include <vector>

#include "holdfast/internal/executor.pb.h"

namespace holdfast {

// Returns the daemon's ordinals of a session's devices, in the order in which
// the session's client names them.
std::vector<uint32_t> DevicesOf(const internal::Assign& assign);

// Puts the session on this device. The client continues to use the ordinal of
// the device that it opened the session on. REQUIRES: the session has one
// device.
void SetDevice(uint32_t device, internal::Assign* assign);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_ASSIGNED_DEVICES_H_
