// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_GRAPH_SOURCE_H_
#define HOLDFAST_CLIENT_CLI_GRAPH_SOURCE_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace holdfast::cli {

// The path of a source that a graph's file names. The file may be a stranger's,
// and what it names is sent to the daemon: so `source` has to lie below
// `folder`, the graph's, also by where links lead. INVALID_ARGUMENT: it does
// not. NOT_FOUND: there is none.
absl::StatusOr<std::string> GraphSource(const std::filesystem::path& folder,
                                        const std::string& source);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_GRAPH_SOURCE_H_
