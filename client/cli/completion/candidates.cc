// SPDX-License-Identifier: Apache-2.0
#include "client/cli/completion/candidates.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace holdfast::cli {
namespace {

using Words = std::vector<std::string>;

// A command line as far as the word that is completed.
struct Place {
  const CLI::App* command = nullptr;
  const CLI::Option* pending = nullptr;  // waits for its value
  size_t positionals = 0;
  bool only_positionals = false;  // behind "--", or a program's words
  std::string address;
};

const CLI::App* Find(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

bool TakesValue(const CLI::Option& option) {
  return option.get_expected_max() > 0;
}

void TakeOption(const std::string& word, Place* place) {
  const size_t equals = word.find('=');
  const CLI::Option* option =
      place->command->get_option_no_throw(word.substr(0, equals));
  if (option == nullptr || !TakesValue(*option)) return;
  if (equals == std::string::npos) {
    place->pending = option;
  } else if (option->check_lname("address")) {
    place->address = word.substr(equals + 1);
  }
}

void Take(const std::string& word, Place* place) {
  if (place->pending != nullptr) {
    if (word == "=") return;
    if (place->pending->check_lname("address")) place->address = word;
    place->pending = nullptr;
  } else if (word == "--") {
    place->only_positionals = true;
  } else if (absl::StartsWith(word, "-") && !place->only_positionals) {
    TakeOption(word, place);
  } else if (const CLI::App* next = Find(*place->command, word)) {
    place->command = next;
    place->positionals = 0;
  } else {
    ++place->positionals;
    // Behind "exec" all words from the first one on are a program's.
    if (place->command->get_prefix_command()) place->only_positionals = true;
  }
}

std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

Words SpellingsOf(const CLI::Option& option) {
  Words names;
  for (const std::string& name : option.get_lnames()) {
    names.push_back(absl::StrCat("--", name));
  }
  for (const std::string& name : option.get_snames()) {
    names.push_back(absl::StrCat("-", name));
  }
  return names;
}

void AddOptions(const CLI::App& command, Candidates* found) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // not shown in --help
    for (const std::string& name : SpellingsOf(*option)) {
      found->words.push_back({name, FirstLine(option->get_description())});
    }
  }
}

void AddCommands(const CLI::App& command, Candidates* found) {
  for (const CLI::App* inner : command.get_subcommands({})) {
    if (inner->get_group().empty()) continue;
    found->words.push_back(
        {inner->get_name(), FirstLine(inner->get_description())});
  }
}

// "host|FILE", "TEXT:{fast,slow}": the words in small letters are values.
Words ValuesIn(absl::string_view type) {
  const size_t open = type.find('{');
  if (open != absl::string_view::npos) {
    type.remove_prefix(open + 1);
    return absl::StrSplit(type.substr(0, type.find('}')), ',');
  }
  Words values;
  if (!absl::StrContains(type, '|')) return values;
  for (const absl::string_view word : absl::StrSplit(type, '|')) {
    if (std::all_of(word.begin(), word.end(), absl::ascii_islower)) {
      values.emplace_back(word);
    }
  }
  return values;
}

// Whether a value of this type may be a file's name.
bool MayBeFile(absl::string_view type, bool has_values) {
  for (const absl::string_view name : {"FILE", "DIR", "PATH"}) {
    if (absl::StrContains(type, name)) return true;
  }
  return absl::StartsWith(type, "TEXT") && !has_values;
}

Candidates::Names NamesFor(const CLI::App& command, const CLI::Option& option) {
  const std::string name = option.get_name(true);
  const CLI::App* group = command.get_parent();
  if (name == "SESSION") return Candidates::Names::kSessions;
  if (name != "NAME" || group == nullptr) return Candidates::Names::kNone;
  if (group->get_name() == "collection") return Candidates::Names::kCollections;
  return group->get_name() == "tenants" ? Candidates::Names::kTenants
                                        : Candidates::Names::kNone;
}

void AddValues(const CLI::App& command, const CLI::Option& option,
               Candidates* found) {
  const std::string type = option.get_type_name();
  Words values = ValuesIn(type);
  if (type == "ADDRESS") values = {"embedded:", "tcp:", "tls:", "unix:"};
  for (const std::string& value : values) found->words.push_back({value, ""});
  found->names = NamesFor(command, option);
  found->files = found->names == Candidates::Names::kNone &&
                 MayBeFile(type, !values.empty());
}

// The last positional may be given again and again.
const CLI::Option* Positional(const Place& place) {
  const CLI::Option* last = nullptr;
  size_t number = 0;
  for (const CLI::Option* option : place.command->get_options()) {
    if (!option->get_positional()) continue;
    last = option;
    if (number++ == place.positionals) return last;
  }
  return last != nullptr && last->get_expected_max() > 1 ? last : nullptr;
}

// `*word`: what is completed; without the option in "--option=value".
void AddFor(const Place& place, std::string* word, Candidates* found) {
  const CLI::App& command = *place.command;
  if (place.pending != nullptr) {
    if (*word == "=") word->clear();
    return AddValues(command, *place.pending, found);
  }
  if (absl::StartsWith(*word, "-") && !place.only_positionals) {
    const size_t equals = word->find('=');
    if (equals == std::string::npos) return AddOptions(command, found);
    const auto* option = command.get_option_no_throw(word->substr(0, equals));
    found->prefix = word->substr(0, equals + 1);
    word->erase(0, equals + 1);
    if (option != nullptr) AddValues(command, *option, found);
    return;
  }
  if (command.get_prefix_command()) {
    found->programs = place.positionals == 0;
    found->files = true;
    return;
  }
  AddCommands(command, found);
  const CLI::Option* positional = Positional(place);
  if (positional != nullptr) AddValues(command, *positional, found);
}

}  // namespace

std::vector<Candidate> ThatBegin(const std::vector<Candidate>& words,
                                 const std::string& beginning) {
  std::vector<Candidate> found;
  for (const Candidate& candidate : words) {
    if (absl::StartsWith(candidate.word, beginning)) found.push_back(candidate);
  }
  return found;
}

Candidates Complete(const CLI::App& app, const Words& words) {
  Candidates found;
  if (words.empty()) return found;
  Place place;
  place.command = &app;
  const bool help = words.size() > 1 && words.front() == "help";
  for (size_t i = help ? 1 : 0; i + 1 < words.size(); ++i) {
    Take(words[i], &place);
  }
  std::string word = words.back();
  AddFor(place, &word, &found);
  if (words.size() == 1) found.words.push_back({"help", "Explain a command"});
  found.words = ThatBegin(found.words, word);
  found.address = place.address;
  return found;
}

}  // namespace holdfast::cli
