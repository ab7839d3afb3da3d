// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_TOP_COLUMNS_H_
#define HOLDFAST_CLIENT_CLI_TOP_COLUMNS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast::cli {

struct Column {
  const char* title;
  size_t width;
  bool right = false;  // where the text stands
  // 0 is always there, then come those of the lowest number that have room.
  int dispensable = 0;
};

// Cut after so many characters, or padded with spaces. Characters are code
// points: none is cut in two.
std::string Fit(absl::string_view text, size_t columns);

// The columns that fit side by side into `room` characters; 0: all.
std::vector<bool> Shown(const std::vector<Column>& columns, size_t room);

// One line of a table. A text on the right that is wider than its column keeps
// its digits. REQUIRES: as many cells as columns.
std::string Row(const std::vector<Column>& columns,
                const std::vector<bool>& shown,
                const std::vector<std::string>& cells);
std::string TitleRow(const std::vector<Column>& columns,
                     const std::vector<bool>& shown);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_TOP_COLUMNS_H_
