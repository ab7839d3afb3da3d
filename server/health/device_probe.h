// SPDX-License-Identifier: Apache-2.0
//
// The supervisor's side of a probe. A probe is a process that runs a small
// kernel on a device (probe_main.h), to find out whether the device works.
#ifndef HOLDFAST_SERVER_HEALTH_DEVICE_PROBE_H_
#define HOLDFAST_SERVER_HEALTH_DEVICE_PROBE_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/process/child_process.h"

namespace holdfast {

struct ProbeOutcome {
  // OK: the kernel ran to its end, and its results are right. CANCELLED: the
  // probe was cancelled. Any other error: the device is unusable.
  absl::Status status;
  // The probe's process; null if none could be started. Its destructor blocks
  // until the process has ended, which a hanging device can delay for long. So
  // the caller must record the outcome first.
  std::unique_ptr<ChildProcess> process;
};

// Probes the device with the process that `start` starts. Blocks until the
// process has answered, for at most `limit`, or until `given_up()`, which is
// polled, returns true. Kills a process that has not answered by then.
ProbeOutcome ProbeDevice(
    const std::function<absl::StatusOr<std::unique_ptr<ChildProcess>>()>& start,
    absl::Duration limit, const std::function<bool()>& given_up);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_DEVICE_PROBE_H_
