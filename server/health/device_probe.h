// SPDX-License-Identifier: Apache-2.0
//
// The supervisor's side of a probe: starts a process that runs a small kernel
// (probe_main.h), and waits for its answer.
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
  // Null if no process could be started. Its destructor waits for the end of
  // the process, which a hanging device can delay for long: record the outcome
  // first.
  std::unique_ptr<ChildProcess> process;
};

// Probes the device with the process that `start` makes. Blocks for at most
// `limit`, or until `given_up()`, which is polled, returns true. Kills a
// process that has not answered by then.
ProbeOutcome ProbeDevice(
    const std::function<absl::StatusOr<std::unique_ptr<ChildProcess>>()>& start,
    absl::Duration limit, const std::function<bool()>& given_up);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_DEVICE_PROBE_H_
