// SPDX-License-Identifier: Apache-2.0
//
// Finds the words that can complete a word of a command line, from the table of
// commands.
#ifndef HOLDFAST_CLIENT_CLI_COMPLETION_CANDIDATES_H_
#define HOLDFAST_CLIENT_CLI_COMPLETION_CANDIDATES_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace holdfast::cli {

struct Candidate {
  std::string word;
  std::string description;  // one line; may be empty
};

struct Candidates {
  // The kind of names that have to be fetched from the daemon.
  enum class Names { kNone, kSessions, kCollections, kTenants };

  std::vector<Candidate> words;
  bool files = false;
  bool programs = false;  // commands of the shell
  Names names = Names::kNone;
  // The text before each value: "--device=" if the word is "--device=1".
  std::string prefix;
  // The value of --address on the command line; empty: not given.
  std::string address;
};

// Returns the candidates for the last of `words`, which may be empty. `words`
// is the command line without the program's name. A "=" between an option and
// its value may be a separate word, as in bash. Every candidate begins with the
// last word.
Candidates Complete(const CLI::App& app, const std::vector<std::string>& words);

// Returns the elements of `words` that begin with `beginning`.
std::vector<Candidate> ThatBegin(const std::vector<Candidate>& words,
                                 const std::string& beginning);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COMPLETION_CANDIDATES_H_
