// SPDX-License-Identifier: Apache-2.0
#include "client/cli/top/columns.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace holdfast::cli {
namespace {

bool BeginsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

size_t WidthOf(const std::vector<Column>& columns,
               const std::vector<bool>& shown) {
  size_t width = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (shown[i]) width += columns[i].width + (width == 0 ? 0 : 1);
  }
  return width;
}

std::string Aligned(const Column& column, const std::string& text) {
  if (!column.right) return Fit(text, column.width);
  if (text.size() >= column.width) return text;
  return absl::StrCat(std::string(column.width - text.size(), ' '), text);
}

}  // namespace

std::string Fit(absl::string_view text, size_t columns) {
  size_t characters = 0;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if (!BeginsCharacter(text[end])) continue;
    if (characters == columns) break;
    ++characters;
  }
  return absl::StrCat(text.substr(0, end),
                      std::string(columns - characters, ' '));
}

std::vector<bool> Shown(const std::vector<Column>& columns, size_t room) {
  if (room == 0) return std::vector<bool>(columns.size(), true);
  std::vector<size_t> order(columns.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return columns[a].dispensable < columns[b].dispensable;
  });
  std::vector<bool> shown(columns.size(), false);
  for (const size_t i : order) {
    shown[i] = true;
    if (columns[i].dispensable == 0) continue;
    shown[i] = WidthOf(columns, shown) <= room;
  }
  return shown;
}

std::string Row(const std::vector<Column>& columns,
                const std::vector<bool>& shown,
                const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!shown[i]) continue;
    absl::StrAppend(&line, line.empty() ? "" : " ",
                    Aligned(columns[i], cells[i]));
  }
  return line;
}

std::string TitleRow(const std::vector<Column>& columns,
                     const std::vector<bool>& shown) {
  std::vector<std::string> titles;
  titles.reserve(columns.size());
  for (const Column& column : columns) titles.emplace_back(column.title);
  return Row(columns, shown, titles);
}

}  // namespace holdfast::cli
