// SPDX-License-Identifier: Apache-2.0
#include "client/cli/suggestion.h"

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/base/nearest_word.h"
#include "core/base/printable.h"

namespace holdfast::cli {
namespace {

using Words = std::vector<std::string>;

Words CommandsOf(const CLI::App& app) {
  Words names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

const CLI::App* Find(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

Words OptionsOf(const CLI::App& app) {
  Words names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // not for people
    for (const std::string& name : option->get_lnames()) {
      names.push_back(absl::StrCat("--", name));
    }
  }
  return names;
}

std::string About(absl::string_view kind, absl::string_view word,
                  const Words& candidates) {
  return absl::StrCat("there is no ", kind, " \"", ToPrintable(word), "\"",
                      DidYouMean(word, candidates));
}

// The commands named `word` in the groups of `app`: "admin drain".
Words InGroups(const CLI::App& app, absl::string_view word) {
  Words paths;
  for (const CLI::App* group : app.get_subcommands({})) {
    for (const std::string& name : CommandsOf(*group)) {
      if (name != word) continue;
      paths.push_back(absl::StrCat(group->get_name(), " ", name));
    }
  }
  return paths;
}

// Returns the advice for a command that other programs have and Holdfast does
// not have; empty for any other word.
absl::string_view Instead(absl::string_view word) {
  if (word == "start") return "; `holdfastd` starts a daemon";
  if (word == "stop") {
    return "; SIGTERM stops a daemon, and `systemctl stop holdfastd` the "
           "service";
  }
  if (word == "status") {
    return "; `holdfast version`, `holdfast devices` and `holdfast top` show "
           "the daemon";
  }
  return "";
}

std::string AboutCommand(const CLI::App& app, const std::string& word) {
  std::string end(Instead(word));
  if (const Words paths = InGroups(app, word); end.empty() && !paths.empty()) {
    end = absl::StrCat("; did you mean ", absl::StrJoin(paths, " or "), "?");
  }
  if (end.empty()) return About("command", word, CommandsOf(app));
  return absl::StrCat(About("command", word, {}), end);
}

}  // namespace

std::string AboutMissingValue(const CLI::App& app, const Words& words) {
  const CLI::App* command = &app;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") break;
    const CLI::App* const next = Find(*command, word);
    if (next != nullptr) command = next;
    const CLI::Option* const option = command->get_option_no_throw(word);
    if (!absl::StartsWith(word, "-") || option == nullptr ||
        option->get_expected_min() == 0) {
      continue;
    }
    const bool is_last = i + 1 == words.size();
    if (is_last || (absl::StartsWith(words[i + 1], "--") &&
                    command->get_option_no_throw(words[i + 1]) != nullptr)) {
      return absl::StrCat(word, " needs a value", is_last ? "" : ", and ",
                          is_last ? "" : words[i + 1],
                          is_last ? "" : " is an option");
    }
    ++i;
  }
  return "";
}

std::string AboutUnknownWord(const CLI::App& app, const Words& words) {
  const CLI::App* command = &app;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") break;
    if (absl::StartsWith(word, "--")) {
      const std::string name = word.substr(0, word.find('='));
      const CLI::Option* option = command->get_option_no_throw(name);
      const Words names = OptionsOf(*command);
      if (option == nullptr && command->get_allow_extras() &&
          NearestWord(name, names).empty()) {
        continue;  // one of the compiler's
      }
      if (option == nullptr) return About("option", name, names);
      // Its value is no command.
      if (name == word && option->get_expected_min() > 0) ++i;
    } else if (!absl::StartsWith(word, "-")) {
      if (CommandsOf(*command).empty()) continue;
      const CLI::App* next = Find(*command, word);
      if (next == nullptr) return AboutCommand(*command, word);
      command = next;
    }
  }
  return "";
}

}  // namespace holdfast::cli
