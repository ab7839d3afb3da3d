// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COMPLETION_DAEMON_NAMES_H_
#define HOLDFAST_CLIENT_CLI_COMPLETION_DAEMON_NAMES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/cli/completion/candidates.h"

namespace holdfast::cli {

// Returns the names of the sessions, collections or tenants of the daemon at
// `address`; an empty address means DefaultAddress(). Returns an empty list if
// no daemon answers, or if the address would start a daemon. Leaves out names
// that a shell would not read as one word, since a shell inserts candidates
// without quotes.
std::vector<Candidate> AskForNames(const std::string& address,
                                   Candidates::Names names);

// Returns true if every shell reads `name` as one word.
bool IsPlainWord(absl::string_view name);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COMPLETION_DAEMON_NAMES_H_
