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

// How much room there is; 0: no bound.
struct ViewSize {
  size_t columns = 0;
  size_t rows = 0;
};

// A column that sessions can be sorted by, the largest first.
struct SortOrder {
  char key;           // that chooses it
  const char* name;   // as the command line has it
  const char* title;  // of the column
};
// All orders; the first is the usual one.
const std::vector<SortOrder>& SortOrders();

// How people want to see it.
struct ViewStyle {
  // One of SortOrders().
  SortOrder order = SortOrders().front();
  bool colors = false;
  // A last line says which keys there are.
  bool keys = false;
};

// Lines of text that fit, without control characters but those of colors: the
// daemon, its devices, its sessions in their order. Columns that people miss
// least are left out where there is no room. `rates` is null in the first view.
std::vector<std::string> TopView(const TopSnapshot& snapshot,
                                 const CopyRates* rates, ViewSize size,
                                 const ViewStyle& style = {});

// One of several daemons.
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

// The views of several daemons, one below the other, each with an equal part of
// the rows. A daemon that cannot be reached has its error there.
std::vector<std::string> TopViewOfSeveral(
    const std::vector<WatchedDaemon>& daemons, ViewSize size,
    const ViewStyle& style);

// TopView() as one JSON object on one line.
std::string TopJson(const TopSnapshot& snapshot, const CopyRates* rates,
                    const SortOrder& order = SortOrders().front());

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_TOP_VIEW_H_
