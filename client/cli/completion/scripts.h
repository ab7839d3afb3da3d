// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COMPLETION_SCRIPTS_H_
#define HOLDFAST_CLIENT_CLI_COMPLETION_SCRIPTS_H_

#include "absl/strings/string_view.h"

namespace holdfast::cli {

// The command that the scripts ask. It prints a candidate a line, a tab and a
// description behind it where there is one, and kFilesToo if files' names are
// candidates, too.
inline constexpr char kCompleteCommand[] = "__complete";
inline constexpr char kFilesToo[] = ":files";

// "bash", "zsh" or "fish"; empty: another shell. The scripts know no command
// or option: they ask the `holdfast` that is in PATH.
absl::string_view CompletionScript(absl::string_view shell);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COMPLETION_SCRIPTS_H_
