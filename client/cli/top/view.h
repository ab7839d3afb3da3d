// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_TOP_VIEW_H_
#define HOLDFAST_CLIENT_CLI_TOP_VIEW_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/cli/top/snapshot.h"

namespace holdfast::cli {

// How much room there is; 0: no bound.
struct ViewSize {
  size_t columns = 0;
  size_t rows = 0;
};

// Lines of text, without control characters, that fit: the daemon, its devices,
// its sessions with those that hold most memory first. Columns that people miss
// least are left out where there is no room. `rates` is null in the first view.
std::vector<std::string> TopView(const TopSnapshot& snapshot,
                                 const CopyRates* rates, ViewSize size);

// The same as one JSON object on one line.
std::string TopJson(const TopSnapshot& snapshot, const CopyRates* rates);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_TOP_VIEW_H_
