// SPDX-License-Identifier: Apache-2.0
//
// Suggestions for a misspelled command, option or argument.
#ifndef HOLDFAST_CLIENT_CLI_SUGGESTION_H_
#define HOLDFAST_CLIENT_CLI_SUGGESTION_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace holdfast::cli {

// Returns a message about the first option that needs a value and has none,
// because it is the last word or the next word is an option: "--only needs a
// value"; empty if there is no such option. A value that is itself an option's
// name must be given after "=".
std::string AboutMissingValue(const CLI::App& app,
                              const std::vector<std::string>& words);

// Returns a message about the first word that is neither a command nor an
// option of `app`: "there is no command \"device\"; did you mean devices?";
// empty if all words are known. `words` is the command line without the
// program's name.
std::string AboutUnknownWord(const CLI::App& app,
                             const std::vector<std::string>& words);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_SUGGESTION_H_
