// SPDX-License-Identifier: Apache-2.0
//
// Flags of the commands that run kernels: how their session is opened.
#ifndef HOLDFAST_CLIENT_CLI_SESSION_FLAGS_H_
#define HOLDFAST_CLIENT_CLI_SESSION_FLAGS_H_

#include <string>

#include "absl/time/time.h"
#include "client/cli/command.h"
#include "client/cpp/session.h"

namespace holdfast::cli {

struct SessionFlags {
  std::string device;  // as SessionOptions.device_choices; empty: all
  absl::Duration kernel_time_limit;  // 0: the daemon's
};

// A flag for a time that is greater than 0: 30s, 2m. `duration` must outlive
// the command.
void AddDurationFlag(CLI::App* command, const std::string& flag,
                     absl::Duration* duration, const std::string& help);

// --device and --kernel-time-limit. `flags` must outlive the command.
void AddSessionFlags(CLI::App* command, SessionFlags* flags);

// With --json, what kernels print goes to standard error.
SessionOptions ToSessionOptions(const CommonOptions& options,
                                const SessionFlags& flags, std::string name);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_SESSION_FLAGS_H_
