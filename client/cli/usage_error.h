// SPDX-License-Identifier: Apache-2.0
//
// A command line that is wrong, told from a command that has failed.
#ifndef HOLDFAST_CLIENT_CLI_USAGE_ERROR_H_
#define HOLDFAST_CLIENT_CLI_USAGE_ERROR_H_

#include "absl/status/status.h"

namespace holdfast::cli {

// The same status, marked: `holdfast` then exits with kExitUsage. No effect on
// an OK status.
absl::Status UsageError(absl::Status status);
bool IsUsageError(const absl::Status& status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_USAGE_ERROR_H_
