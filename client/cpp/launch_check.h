// SPDX-License-Identifier: Apache-2.0
//
// What a client knows of a launch before the daemon does: numbers that no
// device takes, and those that this device does not. The daemon checks
// everything again.
#ifndef HOLDFAST_CLIENT_CPP_LAUNCH_CHECK_H_
#define HOLDFAST_CLIENT_CPP_LAUNCH_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "client/cpp/launch.h"

namespace holdfast {

// INVALID_ARGUMENT: a dimension is 0. OUT_OF_RANGE: a dimension is beyond what
// CUDA has on every device. Does not wait.
absl::Status CheckGeometry(const LaunchConfig& config);

// CheckGeometry, and OUT_OF_RANGE: the device has not so much shared memory for
// a block, or the blocks of a cooperative grid cannot all be resident. Waits
// where that has to be asked for: once a device for more than 48 KiB of dynamic
// shared memory, once a kernel and block for cooperative launches.
absl::Status CheckLaunch(const LaunchConfig& config, const Kernel& kernel,
                         uint32_t device);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LAUNCH_CHECK_H_
