// SPDX-License-Identifier: Apache-2.0
//
// What somebody may have meant whose command line was not understood.
#ifndef HOLDFAST_CLIENT_CLI_SUGGESTION_H_
#define HOLDFAST_CLIENT_CLI_SUGGESTION_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/string_view.h"

namespace holdfast::cli {

// The candidate that differs from `word` by the fewest insertions, deletions,
// replacements and swaps of neighbours; empty: none is near.
std::string Nearest(absl::string_view word,
                    const std::vector<std::string>& candidates);

// About the first word that is no command, or no option of its command, of
// `app`: "there is no command \"device\"; did you mean devices?". Empty: all
// words are known. `words`: the command line behind the program's name.
std::string AboutUnknownWord(const CLI::App& app,
                             const std::vector<std::string>& words);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_SUGGESTION_H_
