// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COMPLETION_SCRIPTS_H_
#define HOLDFAST_CLIENT_CLI_COMPLETION_SCRIPTS_H_

#include "absl/strings/string_view.h"

namespace holdfast::cli {

// The command that the scripts call. It prints one candidate per line, with a
// tab and a description if there is one. It also prints kFilesToo if names of
// files are candidates, and kProgramsToo if commands of the shell are.
inline constexpr char kCompleteCommand[] = "__complete";
inline constexpr char kFilesToo[] = ":files";
inline constexpr char kProgramsToo[] = ":programs";

// Returns the script for "bash", "zsh" or "fish", and an empty text for any
// other shell. The scripts contain no commands or options: they call the
// `holdfast` in PATH.
absl::string_view CompletionScript(absl::string_view shell);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COMPLETION_SCRIPTS_H_
