// SPDX-License-Identifier: Apache-2.0
#include "server/config/config_file.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/printable.h"
#include "server/tenants/toml_reader.h"

namespace holdfast::server {
namespace {

constexpr char kWanted[] =
    "a string, a number or an array of them is wanted here";
constexpr char kFlagWanted[] = "true or false is wanted here";

[[noreturn]] void Refuse(const absl::Status& error) {
  throw CLI::ConfigError(std::string(error.message()),
                         CLI::ExitCodes::ConfigError);
}

// Formats without an exponent and without loss: 1e9 gives 1000000000.
std::string Digits(double number) {
  std::array<char, 400> text = {};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                 std::chars_format::fixed);
  return std::string(text.data(), end.ptr);
}

// The command line reads "660" as octal. TOML reads 660 as decimal, so only a
// string or a number with 0o is accepted.
std::string ModeOf(const TomlReader& reader, const toml::node& node) {
  const auto* const mode = node.as_integer();
  if (mode == nullptr || mode->get() < 0 ||
      mode->flags() != toml::value_flags::format_as_octal) {
    Refuse(reader.ErrorAt(node, R"(a mode is wanted: "0660", or 0o660)"));
  }
  return absl::StrFormat("%04o", mode->get());
}

std::string TextOf(const TomlReader& reader, const toml::node& node) {
  const std::string& text = node.as_string()->get();
  if (text.empty()) {
    Refuse(reader.ErrorAt(node, "this is empty; leave the key out for none"));
  }
  return text;
}

// The word that an option with a value would have on the command line.
std::string WordOf(const TomlReader& reader, const toml::node& node,
                   const CLI::Option& option) {
  if (node.is_string()) return TextOf(reader, node);
  if (option.get_type_name() == kModeType) return ModeOf(reader, node);
  if (const auto* number = node.as_integer()) {
    return absl::StrCat(number->get());
  }
  const auto* const number = node.as_floating_point();
  if (number == nullptr || std::isnan(number->get())) {
    Refuse(reader.ErrorAt(node, kWanted));
  }
  return Digits(number->get());
}

// The words that an option would have on the command line.
std::vector<std::string> WordsOf(const TomlReader& reader,
                                 const toml::node& node,
                                 const CLI::Option& option) {
  const bool is_flag = option.get_items_expected_max() == 0;
  if (is_flag) {
    const auto* const flag = node.as_boolean();
    if (flag == nullptr) Refuse(reader.ErrorAt(node, kFlagWanted));
    return {flag->get() ? "true" : "false"};
  }
  if (!node.is_array()) return {WordOf(reader, node, option)};
  std::vector<std::string> words;
  for (const toml::node& one : *node.as_array()) {
    words.push_back(WordOf(reader, one, option));
  }
  return words;
}

// Returns true if the option may be a key of the file: hidden options and
// --check-config may not.
bool IsForFiles(const CLI::Option& option) {
  return !option.get_group().empty() && option.get_configurable();
}

std::vector<std::string> NamesOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (!IsForFiles(*option)) continue;
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

}  // namespace

std::vector<CLI::ConfigItem> ConfigFile::from_config(
    std::istream& input) const {
  const auto file = app_.get_config_ptr()->as<std::string>();
  const TomlReader reader(file);
  const std::string text(std::istreambuf_iterator<char>(input), {});
  const toml::parse_result parsed = toml::parse(std::string_view(text), file);
  if (!parsed) {
    const std::string why(parsed.error().description());
    Refuse(reader.ErrorAt(parsed.error().source().begin, ToPrintable(why)));
  }
  std::vector<CLI::ConfigItem> items;
  for (const auto& [key, node] : parsed.table()) {
    const std::string name(key.str());
    const std::string option = absl::StrCat("--", name);
    const auto& at = key.source().begin;
    const CLI::Option* const known = app_.get_option_no_throw(option);
    if (known == nullptr || !IsForFiles(*known)) {
      Refuse(reader.UnknownKey(key, NamesOf(app_)));
    }
    places_[option] = reader.PlaceOf(at);
    CLI::ConfigItem item;
    item.name = name;
    item.inputs = WordsOf(reader, node, *known);
    items.push_back(std::move(item));
  }
  return items;
}

std::string ConfigFile::WithPlace(const std::string& error) const {
  for (const auto& [option, place] : places_) {
    const size_t at = error.find(option);
    if (at == std::string::npos) continue;
    const size_t end = at + option.size();
    if (end < error.size() &&
        (error[end] == '-' ||
         absl::ascii_isalnum(static_cast<unsigned char>(error[end])))) {
      continue;  // a longer name
    }
    // Without the dashes, as the file has it.
    return absl::StrCat(place, error.substr(0, at), error.substr(at + 2));
  }
  return error;
}

}  // namespace holdfast::server
