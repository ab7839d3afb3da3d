// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_GRAPH_SOURCE_H_
#define HOLDFAST_CLIENT_CLI_GRAPH_SOURCE_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace holdfast::cli {

// Returns the path of a source that a graph's file names. The file is untrusted
// and its sources are sent to the daemon, so `source` must lie below `folder`,
// the graph's folder, even after links are followed. INVALID_ARGUMENT: the
// source lies elsewhere. NOT_FOUND: there is no such file.
absl::StatusOr<std::string> GraphSource(const std::filesystem::path& folder,
                                        const std::string& source);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_GRAPH_SOURCE_H_
