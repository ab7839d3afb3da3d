// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_FILE_H_
#define HOLDFAST_CLIENT_CLI_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast::cli {

// Read and write whole files; "-" is standard input and output. Messages name
// the path and the reason.
absl::StatusOr<std::string> ReadFile(const std::string& path);
absl::Status WriteFile(const std::string& path, absl::string_view bytes);
// Makes a new file. ALREADY_EXISTS: there is a file or a link at this path.
absl::Status WriteNewFile(const std::string& path, absl::string_view bytes);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_FILE_H_
