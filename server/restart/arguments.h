// SPDX-License-Identifier: Apache-2.0
//
// Changes flags that are valid for only one start of the daemon, although a
// keeper, or a daemon that is being replaced, starts the next one with the same
// arguments.
#ifndef HOLDFAST_SERVER_RESTART_ARGUMENTS_H_
#define HOLDFAST_SERVER_RESTART_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast {

// Sets a flag to this value, overriding arguments and configuration file:
// removes "--flag=value" and, if `takes_value`, "--flag value", else "--flag";
// then appends "--flag=value". The first argument is the program.
void SetFlag(absl::string_view flag, bool takes_value, absl::string_view value,
             std::vector<std::string>* arguments);

// Removes --ready-fd: the daemon has written its addresses to the descriptor
// and closed it, so another file may have its number.
inline void ForgetReadyFd(std::vector<std::string>* arguments) {
  SetFlag("--ready-fd", /*takes_value=*/true, "-1", arguments);
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_ARGUMENTS_H_
