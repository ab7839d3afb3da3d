// SPDX-License-Identifier: Apache-2.0
//
// Flags that hold for one start of the daemon and not for the next, which a
// keeper or a daemon that makes way starts with the same arguments.
#ifndef HOLDFAST_SERVER_RESTART_ARGUMENTS_H_
#define HOLDFAST_SERVER_RESTART_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast {

// Gives a flag this value, whatever the arguments or the configuration file
// say: takes it out as "--flag=value" and, if `takes_value`, as "--flag value",
// else as "--flag"; then appends "--flag=value". The first argument is the
// program.
void SetFlag(absl::string_view flag, bool takes_value, absl::string_view value,
             std::vector<std::string>* arguments);

// The daemon's addresses were written to --ready-fd once, and the descriptor
// was closed: another file may have its number.
inline void ForgetReadyFd(std::vector<std::string>* arguments) {
  SetFlag("--ready-fd", /*takes_value=*/true, "-1", arguments);
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_ARGUMENTS_H_
