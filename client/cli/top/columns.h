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
  bool right = false;  // the text is right-aligned
  // 0: the column is always shown. Other columns are shown if there is room,
  // columns with lower numbers first.
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

// Returns the text cut or padded with spaces to `columns` characters.
// Characters are code points and are never cut in two. Colors take no room and
// end with the text.
std::string Fit(absl::string_view text, size_t columns);

std::string WithoutColors(absl::string_view text);

// Returns, for each column, whether it is shown in a line of `room` characters;
// 0: all are shown.
std::vector<bool> Shown(const std::vector<Column>& columns, size_t room);

// Returns one line of a table. A right-aligned text that is wider than its
// column is not cut. REQUIRES: as many cells as columns.
std::string Row(const std::vector<Column>& columns,
                const std::vector<bool>& shown, const std::vector<Cell>& cells);
// Returns the line of titles. Marks the title `sorted`; null: marks none.
std::string TitleRow(const std::vector<Column>& columns,
                     const std::vector<bool>& shown, const char* sorted);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_TOP_COLUMNS_H_
