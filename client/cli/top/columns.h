// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_TOP_COLUMNS_H_
#define HOLDFAST_CLIENT_CLI_TOP_COLUMNS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/cli/color.h"

namespace holdfast::cli {

struct Column {
  const char* title;
  size_t width;
  bool right = false;  // where the text stands
  // 0 is always there, then come those of the lowest number that have room.
  int dispensable = 0;
};

// The text of one column in a line, and its color on a terminal that shows
// colors.
struct Cell {
  Cell(std::string text, Color color = Color::kNone)  // NOLINT: a text alone
      : text(std::move(text)), color(color) {}
  Cell(const char* text) : text(text) {}  // NOLINT: a text alone

  std::string text;
  Color color = Color::kNone;
};

// Cut after so many characters, or padded with spaces. Characters are code
// points: none is cut in two. Colors take no room, and none goes on behind the
// text.
std::string Fit(absl::string_view text, size_t columns);

std::string WithoutColors(absl::string_view text);

// The columns that fit side by side into `room` characters; 0: all.
std::vector<bool> Shown(const std::vector<Column>& columns, size_t room);

// One line of a table. A text on the right that is wider than its column keeps
// its digits. REQUIRES: as many cells as columns.
std::string Row(const std::vector<Column>& columns,
                const std::vector<bool>& shown, const std::vector<Cell>& cells);
// The titles. `sorted`: the one that is marked; null: none.
std::string TitleRow(const std::vector<Column>& columns,
                     const std::vector<bool>& shown, const char* sorted);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_TOP_COLUMNS_H_
