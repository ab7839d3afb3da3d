// SPDX-License-Identifier: Apache-2.0
//
// Marks errors of the command line, as opposed to errors of a command that ran.
#ifndef HOLDFAST_CLIENT_CLI_USAGE_ERROR_H_
#define HOLDFAST_CLIENT_CLI_USAGE_ERROR_H_

#include "absl/status/status.h"

namespace holdfast::cli {

// Returns the status with a mark that makes `holdfast` exit with kExitUsage.
// Returns an OK status unchanged.
absl::Status UsageError(absl::Status status);

// Returns the status without the mark of UsageError, for a mistake that is in a
// file.
absl::Status NoUsageError(absl::Status status);

bool IsUsageError(const absl::Status& status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_USAGE_ERROR_H_
