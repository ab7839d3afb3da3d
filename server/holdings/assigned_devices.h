// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HOLDINGS_ASSIGNED_DEVICES_H_
#define HOLDFAST_SERVER_HOLDINGS_ASSIGNED_DEVICES_H_

#include <cstdint>
#include <vector>

#include "holdfast/internal/executor.pb.h"

namespace holdfast {

// Returns the daemon's ordinals of a session's devices, in the order in which
// the session's client names the devices.
std::vector<uint32_t> DevicesOf(const internal::Assign& assign);

// Changes the assignment of a session so that it runs on `device`, an ordinal
// of the daemon. The client continues to use the ordinal of the device on which
// it has opened the session. REQUIRES: the session has one device.
void SetDevice(uint32_t device, internal::Assign* assign);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_ASSIGNED_DEVICES_H_
