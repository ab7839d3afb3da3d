// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/unambiguous_json.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

using nlohmann::json;

// Tells whether an object names a member twice: one reader would take the first
// and another the last.
class DuplicateFinder {
 public:
  // Takes note of an event of nlohmann's parser. Returns true: all is kept.
  bool See(json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) names_.emplace_back();
    if (event == json::parse_event_t::object_end) names_.pop_back();
    if (event == json::parse_event_t::key) {
      found_ |= !names_.back().insert(parsed.get<std::string>()).second;
    }
    return true;
  }
  bool found() const { return found_; }

 private:
  std::vector<std::set<std::string>> names_;  // of each open object
  bool found_ = false;
};

// Reads everything and keeps the position of the error.
class ErrorFinder : public nlohmann::json_sax<json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    position_ = position;
    return false;
  }

  size_t position() const { return position_; }

 private:
  size_t position_ = 0;
};

}  // namespace

std::optional<std::string> DecodeBase64Url(absl::string_view text) {
  std::string bytes;
  if (!text.empty() && absl::WebSafeBase64Unescape(text, &bytes) &&
      absl::WebSafeBase64Escape(bytes) == text) {
    return bytes;
  }
  return std::nullopt;
}

absl::StatusOr<json> ParseObject(absl::string_view text) {
  DuplicateFinder duplicates;
  json object = json::parse(
      text,
      [&duplicates](int, json::parse_event_t event, json& parsed) {
        return duplicates.See(event, parsed);
      },
      /*allow_exceptions=*/false);
  if (!object.is_object()) return absl::InvalidArgumentError("is no object");
  if (!duplicates.found()) return object;
  return absl::InvalidArgumentError("names a member twice");
}

std::string PlaceOfJsonError(absl::string_view text) {
  ErrorFinder finder;
  if (json::sax_parse(text, &finder)) return "";
  // The position is 1 for the first byte.
  const size_t at = std::min(finder.position(), text.size());
  const absl::string_view before = text.substr(0, at == 0 ? 0 : at - 1);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n');
  const size_t column = line_start == absl::string_view::npos
                            ? before.size()
                            : before.size() - line_start - 1;
  return absl::StrCat(lines + 1, ":", column + 1);
}

}  // namespace holdfast
