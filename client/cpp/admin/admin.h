// SPDX-License-Identifier: Apache-2.0
//
// Calls of AdminService that change what the daemon does, for its operator. All
// return PERMISSION_DENIED to anybody else.
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

// Ends a session ("s-7"), whoever has opened it; its client is told `reason`.
// Blocks until its executor is gone. NOT_FOUND: there is none of this name.
absl::Status EndSession(Daemon& daemon, const std::string& session_id,
                        const std::string& reason);

// Restricts what a session may hold, besides the limits that it was opened
// with; replaces an earlier quota. Nothing held is taken away. 0: no limit.
// NOT_FOUND: there is no session of this name. INVALID_ARGUMENT: the quota has
// a limit that only tenants have.
absl::Status SetSessionQuota(Daemon& daemon, const std::string& session_id,
                             const v1::Quota& quota);

struct SuspendOptions {
  // A new file in the daemon's --suspend-directory; empty: host memory.
  std::string file = {};
  // How long the session's work may take to end; zero: the daemon's default.
  absl::Duration timeout = absl::ZeroDuration();
};

// Takes a session off its devices and ends its executor; its next command, or
// ResumeSession, brings it back. Blocks. Returns the bytes of its device
// memory. FAILED_PRECONDITION names what cannot be suspended; then it goes on.
absl::StatusOr<uint64_t> SuspendSession(Daemon& daemon,
                                        const std::string& session_id,
                                        const SuspendOptions& options = {});

struct ResumeOptions {
  // The ordinal of another device of the same kind, for a session with one
  // device. Default: where it was, if it can be there.
  std::optional<uint32_t> device;
};

// Brings a suspended session back. Blocks until its memory is on its devices,
// and returns these, in the order in which its client names them. With a
// device: NOT_FOUND, UNAVAILABLE, FAILED_PRECONDITION and RESOURCE_EXHAUSTED
// say why it cannot be there; it stays suspended, or the message says where it
// is.
absl::StatusOr<std::vector<uint32_t>> ResumeSession(
    Daemon& daemon, const std::string& session_id,
    const ResumeOptions& options = {});

// Makes the daemon refuse new sessions until StopDrain, and blocks until those
// that are open have ended or the time is up. Returns how many are left.
absl::StatusOr<uint32_t> Drain(
    Daemon& daemon, absl::Duration timeout = absl::InfiniteDuration());

// Lets the daemon open sessions again.
absl::Status StopDrain(Daemon& daemon);

struct Upgraded {
  std::string version;  // "holdfastd 0.1.0"
  // From the old daemon's last answer to the new one's first.
  absl::Duration pause;
};

// Has the daemon make way for the binary that lies in its file now: sessions,
// collections and sockets stay, and clients notice a pause. Work has `timeout`
// to end; zero: the daemon's default. Blocks until the new one answers.
// FAILED_PRECONDITION, DEADLINE_EXCEEDED: as AdminService.Upgrade; the old one
// goes on. UNAVAILABLE: no new one has come within two minutes.
absl::StatusOr<Upgraded> Upgrade(Daemon& daemon,
                                 absl::Duration timeout = absl::ZeroDuration());

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_ADMIN_ADMIN_H_
