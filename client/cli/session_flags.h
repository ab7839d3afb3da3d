// SPDX-License-Identifier: Apache-2.0
//
// The flags for the session of a command that runs kernels.
#ifndef HOLDFAST_CLIENT_CLI_SESSION_FLAGS_H_
#define HOLDFAST_CLIENT_CLI_SESSION_FLAGS_H_

#include <string>

#include "absl/time/time.h"
#include "client/cli/command.h"
#include "client/cpp/session.h"

namespace holdfast::cli {

struct SessionFlags {
  std::string device;  // of SessionOptions::device_choices; empty: all devices
  absl::Duration kernel_time_limit;  // 0: the daemon's limit
};

// Adds a flag for a time greater than 0: 30s, 2m. `duration` must outlive the
// command.
void AddDurationFlag(CLI::App* command, const std::string& flag,
                     absl::Duration* duration, const std::string& help);

// Adds --device and --kernel-time-limit. `flags` must outlive the command.
void AddSessionFlags(CLI::App* command, SessionFlags* flags);

// Returns the options for the session. With --json, the session writes the
// output of kernels to standard error.
SessionOptions ToSessionOptions(const CommonOptions& options,
                                const SessionFlags& flags, std::string name);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_SESSION_FLAGS_H_
