// SPDX-License-Identifier: Apache-2.0
#include "client/cli/top/columns.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace holdfast::cli {
namespace {

constexpr absl::string_view kPlain = "\x1b[0m";

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

// The number of bytes of the color that the text begins with; 0: none.
size_t ColorAt(absl::string_view text) {
  if (!absl::StartsWith(text, "\x1b[")) return 0;
  const size_t end = text.find('m');
  return end == absl::string_view::npos ? 0 : end + 1;
}

}  // namespace

std::string Fit(absl::string_view text, size_t columns) {
  size_t characters = 0;
  size_t end = 0;
  bool is_colored = false;
  while (end < text.size()) {
    const size_t color = ColorAt(text.substr(end));
    if (color > 0) {
      is_colored = text.substr(end, color) != kPlain;
      end += color;
      continue;
    }
    if (BeginsCharacter(text[end])) {
      if (characters == columns) break;
      ++characters;
    }
    ++end;
  }
  return absl::StrCat(text.substr(0, end), is_colored ? kPlain : "",
                      std::string(columns - characters, ' '));
}

std::string WithoutColors(absl::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const size_t color = ColorAt(text);
    if (color == 0) plain.push_back(text.front());
    text.remove_prefix(std::max<size_t>(color, 1));
  }
  return plain;
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
                const std::vector<Cell>& cells) {
  std::string line;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!shown[i]) continue;
    absl::StrAppend(
        &line, line.empty() ? "" : " ",
        Colored(Aligned(columns[i], cells[i].text), cells[i].color));
  }
  return line;
}

std::string TitleRow(const std::vector<Column>& columns,
                     const std::vector<bool>& shown, const char* sorted) {
  std::vector<Cell> titles;
  titles.reserve(columns.size());
  for (const Column& column : columns) {
    const bool is_sorted =
        sorted != nullptr && absl::string_view(column.title) == sorted;
    titles.emplace_back(column.title,
                        is_sorted ? Color::kReverse : Color::kBold);
  }
  return Row(columns, shown, titles);
}

}  // namespace holdfast::cli
