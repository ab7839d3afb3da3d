// SPDX-License-Identifier: Apache-2.0
//
// Changes flags in an argument list. A keeper, or a daemon that is being
// replaced, starts the next daemon with its own arguments, but some flags are
// valid for one start only.
#ifndef HOLDFAST_SERVER_RESTART_ARGUMENTS_H_
#define HOLDFAST_SERVER_RESTART_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast {

// Sets `flag` ("--name") to `value`, so that it overrides earlier arguments and
// the configuration file: removes each "--name=..." and "--name", with the
// argument after "--name" if `takes_value`, and appends "--name=value". The
// first argument is the program, and stays.
void SetFlag(absl::string_view flag, bool takes_value, absl::string_view value,
             std::vector<std::string>* arguments);

// Sets --ready-fd to -1 (none). The daemon has written its addresses to the
// descriptor and closed it, so another file may have its number.
inline void ForgetReadyFd(std::vector<std::string>* arguments) {
  SetFlag("--ready-fd", /*takes_value=*/true, "-1", arguments);
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_ARGUMENTS_H_
