// SPDX-License-Identifier: Apache-2.0
#include "server/config/config_file.h"

#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/printable.h"
#include "server/tenants/toml_reader.h"

namespace holdfast::server {
namespace {

constexpr char kWanted[] =
    "a string, a number, true, false or an array of them is wanted here";

[[noreturn]] void Refuse(const absl::Status& error) {
  throw CLI::ConfigError(std::string(error.message()),
                         CLI::ExitCodes::ConfigError);
}

// The words that an option would have on the command line.
std::vector<std::string> WordsOf(const TomlReader& reader,
                                 const toml::node& node) {
  if (const auto* text = node.as_string()) return {text->get()};
  if (const auto* number = node.as_integer()) {
    return {absl::StrCat(number->get())};
  }
  if (const auto* number = node.as_floating_point()) {
    return {absl::StrCat(number->get())};
  }
  if (const auto* flag = node.as_boolean()) {
    return {flag->get() ? "true" : "false"};
  }
  if (!node.is_array()) Refuse(reader.ErrorAt(node, kWanted));
  std::vector<std::string> words;
  for (const toml::node& one : *node.as_array()) {
    if (one.is_array()) Refuse(reader.ErrorAt(one, kWanted));
    for (std::string& word : WordsOf(reader, one)) {
      words.push_back(std::move(word));
    }
  }
  return words;
}

// The options that a file may have, but for those that are not for people.
std::vector<std::string> NamesOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty() || !option->get_configurable()) continue;
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
    if (app_.get_option_no_throw(option) == nullptr) {
      Refuse(reader.UnknownKey(key, NamesOf(app_)));
    }
    places_[option] = reader.PlaceOf(at);
    CLI::ConfigItem item;
    item.name = name;
    item.inputs = WordsOf(reader, node);
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
