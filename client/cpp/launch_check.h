// SPDX-License-Identifier: Apache-2.0
//
// Checks a launch in the client: against the limits of CUDA for every device,
// and against the limits of this device. The daemon checks everything again.
#ifndef HOLDFAST_CLIENT_CPP_LAUNCH_CHECK_H_
#define HOLDFAST_CLIENT_CPP_LAUNCH_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "client/cpp/launch.h"

namespace holdfast {

// Checks the dimensions of grid and block. INVALID_ARGUMENT: a dimension is 0.
// OUT_OF_RANGE: a dimension exceeds CUDA's limit for every device. Does not
// wait.
absl::Status CheckGeometry(const LaunchConfig& config);

// Calls CheckGeometry, and checks the launch against the device's limits.
// OUT_OF_RANGE also: a block of this device cannot have so much dynamic shared
// memory, or the blocks of a cooperative grid do not all fit on the device at
// once. If the launch has more than 48 KiB of dynamic shared memory, waits for
// the daemon once for each device. If the launch is cooperative, waits once for
// each kernel and block size.
absl::Status CheckLaunch(const LaunchConfig& config, const Kernel& kernel,
                         uint32_t device);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LAUNCH_CHECK_H_
