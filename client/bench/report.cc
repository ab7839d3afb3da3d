// SPDX-License-Identifier: Apache-2.0
#include "client/bench/report.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/json_writer.h"

namespace holdfast::bench {
namespace {

constexpr size_t kColumns = 8;
using Row = std::array<std::string, kColumns>;

// Three digits that mean something: "0.123", "12.3", "1230".
std::string Number(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return absl::StrFormat("%.*f", decimals, value);
}

std::string Quantity(double value, const std::string& unit) {
  if (unit != "/s") return absl::StrCat(Number(value), " ", unit);
  if (value >= 1e6) return absl::StrCat(Number(value / 1e6), " M/s");
  if (value >= 1e3) return absl::StrCat(Number(value / 1e3), " k/s");
  return absl::StrCat(Number(value), " /s");
}

Row ToRow(const Figure& figure) {
  Row row;
  row[0] = absl::StrCat(figure.group, ": ", figure.name);
  row[1] = Quantity(figure.value.p50, figure.unit);
  row[2] = Quantity(figure.value.p99, figure.unit);
  row[3] = absl::StrFormat("%.0f %%", 100 * figure.value.spread());
  if (figure.baseline.has_value()) {
    row[4] = absl::StrCat(figure.baseline->name, " ",
                          Quantity(figure.baseline->value.p50, figure.unit));
  }
  if (const auto ratio = figure.Ratio()) row[5] = Number(*ratio);
  if (figure.bar.has_value()) row[6] = figure.bar->text;
  if (const auto met = figure.Met()) row[7] = *met ? "met" : "NOT MET";
  return row;
}

// In characters, not bytes: units have signs of several bytes.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void AppendRow(const Row& row, const std::array<size_t, kColumns>& widths,
               std::string* text) {
  for (size_t i = 0; i < kColumns; ++i) {
    absl::StrAppend(text, "| ", row[i],
                    std::string(widths[i] - Width(row[i]) + 1, ' '));
  }
  absl::StrAppend(text, "|\n");
}

void WriteSummary(const Summary& summary, cli::JsonWriter* json) {
  json->Member("p50", summary.p50)
      .Member("p99", summary.p99)
      .Member("p10", summary.p10)
      .Member("p90", summary.p90)
      .Member("samples", summary.count);
}

void WriteFigure(const Figure& figure, cli::JsonWriter* json) {
  json->BeginObject()
      .Member("group", figure.group)
      .Member("name", figure.name)
      .Member("unit", figure.unit);
  WriteSummary(figure.value, json);
  if (figure.baseline.has_value()) {
    json->BeginObject("baseline").Member("name", figure.baseline->name);
    WriteSummary(figure.baseline->value, json);
    json->EndObject();
  }
  if (const auto ratio = figure.Ratio()) json->Member("ratio", *ratio);
  if (figure.bar.has_value()) {
    json->BeginObject("bar")
        .Member("text", figure.bar->text)
        .Member("limit", figure.bar->limit)
        .EndObject()
        .Member("met", *figure.Met());
  }
  json->EndObject();
}

}  // namespace

std::string Report::ToTable() const {
  std::vector<Row> rows = {
      {"figure", "Holdfast", "p99", "spread", "beside", "ratio", "bar", ""}};
  for (const Figure& figure : figures) rows.push_back(ToRow(figure));
  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) {
      widths[i] = std::max(widths[i], Width(row[i]));
    }
  }
  Row rule;
  for (size_t i = 0; i < kColumns; ++i) {
    rule[i] = std::string(std::max<size_t>(widths[i], 3), '-');
    widths[i] = std::max<size_t>(widths[i], 3);
  }
  rows.insert(rows.begin() + 1, rule);
  std::string text =
      absl::StrCat(date, "; ", host, "; ", device, "; ", address, "\n\n");
  for (const Row& row : rows) AppendRow(row, widths, &text);
  return text;
}

std::string Report::ToJson() const {
  cli::JsonWriter json;
  json.BeginObject()
      .Member("date", date)
      .Member("host", host)
      .Member("device", device)
      .Member("address", address)
      .BeginArray("figures");
  for (const Figure& figure : figures) WriteFigure(figure, &json);
  json.EndArray().EndObject();
  return json.text();
}

}  // namespace holdfast::bench
