// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_TOP_VIEW_H_
#define HOLDFAST_CLIENT_CLI_TOP_VIEW_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cli/top/snapshot.h"

namespace holdfast::cli {

// The room for a view, in characters; 0: no limit.
struct ViewSize {
  size_t columns = 0;
  size_t rows = 0;
};

// A column that sessions can be sorted by, the largest first.
struct SortOrder {
  char key;           // the key that chooses this order
  const char* name;   // its name on the command line
  const char* title;  // the title of the column
};
// Returns all orders; the first one is the default.
const std::vector<SortOrder>& SortOrders();

// The user's choices for a view.
struct ViewStyle {
  // One of SortOrders().
  SortOrder order = SortOrders().front();
  bool colors = false;
  // A last line lists the keys.
  bool keys = false;
};

// Returns lines of text that fit into `size`: the daemon, its devices, and its
// sessions in the chosen order. The only control characters are those of
// colors. The least important columns are left out if there is no room. `rates`
// is null in the first view.
std::vector<std::string> TopView(const TopSnapshot& snapshot,
                                 const CopyRates* rates, ViewSize size,
                                 const ViewStyle& style = {});

// One of several daemons that are watched.
struct WatchedDaemon {
  std::string address;
  // The outcome of the last snapshot. `snapshot` is empty if it failed.
  absl::Status status;
  std::optional<TopSnapshot> snapshot;
  std::optional<CopyRates> rates;

  const CopyRates* rates_or_null() const {
    return rates.has_value() ? &*rates : nullptr;
  }
};

// Returns the views of several daemons, one below the other, each with an equal
// part of the rows. The view of a daemon that cannot be reached is its error.
std::vector<std::string> TopViewOfSeveral(
    const std::vector<WatchedDaemon>& daemons, ViewSize size,
    const ViewStyle& style);

// Returns the content of TopView() as one JSON object on one line.
std::string TopJson(const TopSnapshot& snapshot, const CopyRates* rates,
                    const SortOrder& order = SortOrders().front());

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_TOP_VIEW_H_
