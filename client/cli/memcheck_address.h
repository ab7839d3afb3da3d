// SPDX-License-Identifier: Apache-2.0
//
// `holdfast run --memcheck` and `holdfast exec --memcheck` start a private
// daemon, whose software device finds accesses outside of all buffers.
#ifndef HOLDFAST_CLIENT_CLI_MEMCHECK_ADDRESS_H_
#define HOLDFAST_CLIENT_CLI_MEMCHECK_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/command.h"

namespace holdfast::cli {

inline constexpr char kMemcheckHelp[] =
    "Run on a private software device that checks every access: a kernel that "
    "accesses memory outside of all buffers fails, and the error names the "
    "nearest buffer";

// Returns the address that starts such a daemon, or a usage error of `command`
// if the command line has --address.
absl::StatusOr<std::string> MemcheckAddress(const CommonOptions& options,
                                            absl::string_view command);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_MEMCHECK_ADDRESS_H_
