// SPDX-License-Identifier: Apache-2.0
//
// Calls of AdminService, for the daemon's operators. Each call fails with
// PERMISSION_DENIED if the caller is not an operator.
#ifndef HOLDFAST_CLIENT_CPP_ADMIN_ADMIN_H_
#define HOLDFAST_CLIENT_CPP_ADMIN_ADMIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/connection/daemon.h"

namespace holdfast {

namespace v1 {
class Quota;
}  // namespace v1

// Ends a session ("s-7") of any client. The later calls of that client fail
// with `reason` in their message. Blocks until the executor has ended.
// NOT_FOUND: there is no such session.
absl::Status EndSession(Daemon& daemon, const std::string& session_id,
                        const std::string& reason);

// Restricts the resources of a session, in addition to its limits from opening;
// replaces an earlier quota. Resources that exceed the quota already stay. A
// limit of 0 means no limit. NOT_FOUND: there is no such session.
// INVALID_ARGUMENT: the quota has a limit that only tenants have.
absl::Status SetSessionQuota(Daemon& daemon, const std::string& session_id,
                             const v1::Quota& quota);

struct SuspendOptions {
  // A new file in the daemon's --suspend-directory; empty: host memory.
  std::string file = {};
  // The time in which the session's work must end; zero: the daemon's default.
  absl::Duration timeout = absl::ZeroDuration();
};

// Suspends a session: moves its memory off its devices and ends its executor.
// The session's next command, or ResumeSession, resumes it. Blocks until the
// session is suspended. Returns the number of bytes of its device memory.
// FAILED_PRECONDITION names the resource that cannot be suspended; the session
// then continues.
absl::StatusOr<uint64_t> SuspendSession(Daemon& daemon,
                                        const std::string& session_id,
                                        const SuspendOptions& options = {});

struct ResumeOptions {
  // The ordinal of a device of the same kind, to which a session with one
  // device moves. Default: the session's last device, if possible.
  std::optional<uint32_t> device;
};

// Resumes a suspended session. Blocks until its memory is on its devices.
// Returns the devices, in the order in which its client names them. With
// `options.device`: NOT_FOUND, UNAVAILABLE, FAILED_PRECONDITION and
// RESOURCE_EXHAUSTED say why the session cannot be on this device. The session
// then stays suspended, or the message names the device that it is on.
absl::StatusOr<std::vector<uint32_t>> ResumeSession(
    Daemon& daemon, const std::string& session_id,
    const ResumeOptions& options = {});

// Makes the daemon refuse new sessions until StopDrain. Blocks until all open
// sessions have ended, or the time is up. Returns the number of sessions left.
absl::StatusOr<uint32_t> Drain(
    Daemon& daemon, absl::Duration timeout = absl::InfiniteDuration());

// Lets the daemon open sessions again.
absl::Status StopDrain(Daemon& daemon);

struct Upgraded {
  std::string version;  // "holdfastd 0.1.0"
  // The time from the old daemon's last answer to the new daemon's first.
  absl::Duration pause;
};

// Replaces the daemon by the present contents of its binary's file. Sessions,
// collections and sockets stay, and clients notice a pause. `timeout` is the
// time in which running work must end; zero: the daemon's default. Blocks until
// the new daemon answers. FAILED_PRECONDITION and DEADLINE_EXCEEDED have the
// causes that AdminService.Upgrade documents; the old daemon continues.
// UNAVAILABLE: no new daemon has answered within two minutes.
absl::StatusOr<Upgraded> Upgrade(Daemon& daemon,
                                 absl::Duration timeout = absl::ZeroDuration());

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_ADMIN_ADMIN_H_
