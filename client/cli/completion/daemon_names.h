// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COMPLETION_DAEMON_NAMES_H_
#define HOLDFAST_CLIENT_CLI_COMPLETION_DAEMON_NAMES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/cli/completion/candidates.h"

namespace holdfast::cli {

// Names that the daemon at `address` knows, empty: DefaultAddress(). Nothing
// where none answers, or where one would have to be started. Names that a shell
// reads as more than a word are left out: a shell inserts them as they are.
std::vector<Candidate> AskForNames(const std::string& address,
                                   Candidates::Names names);

// Whether it is one word for every shell.
bool IsPlainWord(absl::string_view name);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COMPLETION_DAEMON_NAMES_H_
