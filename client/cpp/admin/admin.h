// SPDX-License-Identifier: Apache-2.0
//
// Calls of AdminService that change what the daemon does, for its operator. All
// return PERMISSION_DENIED to anybody else.
#ifndef HOLDFAST_CLIENT_CPP_ADMIN_ADMIN_H_
#define HOLDFAST_CLIENT_CPP_ADMIN_ADMIN_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/daemon.h"

namespace holdfast {

// Ends a session ("s-7"), whoever has opened it; its client is told `reason`.
// Blocks until its executor is gone. NOT_FOUND: there is none of this name.
absl::Status EndSession(Daemon& daemon, const std::string& session_id,
                        const std::string& reason);

// Makes the daemon refuse new sessions until StopDrain, and blocks until those
// that are open have ended or the time is up. Returns how many are left.
absl::StatusOr<uint32_t> Drain(
    Daemon& daemon, absl::Duration timeout = absl::InfiniteDuration());

// Lets the daemon open sessions again.
absl::Status StopDrain(Daemon& daemon);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_ADMIN_ADMIN_H_
