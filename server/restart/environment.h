// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_ENVIRONMENT_H_
#define HOLDFAST_SERVER_RESTART_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace holdfast {

// Returns this process's environment with one more variable, "NAME=value", for
// a program that is executed with it. REQUIRES: this process has no variable of
// that name.
std::vector<std::string> EnvironmentWith(std::string variable);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_ENVIRONMENT_H_
