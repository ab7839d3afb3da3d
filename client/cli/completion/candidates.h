// SPDX-License-Identifier: Apache-2.0
//
// What a word of a command line may become, read off the table of commands.
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
  // What only the daemon knows.
  enum class Names { kNone, kSessions, kCollections, kTenants };

  std::vector<Candidate> words;
  bool files = false;
  Names names = Names::kNone;
  // "--device=" where the word is "--device=1": stands before each value.
  std::string prefix;
  // What --address says so far; empty: nothing.
  std::string address;
};

// For the last of `words`, which may be empty; the others stand before it,
// behind the program's name. A "=" between an option and its value may be a
// word of its own, as bash has it. All candidates begin with the last word.
Candidates Complete(const CLI::App& app, const std::vector<std::string>& words);

// Those of `words` that begin so.
std::vector<Candidate> ThatBegin(const std::vector<Candidate>& words,
                                 const std::string& beginning);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COMPLETION_CANDIDATES_H_
