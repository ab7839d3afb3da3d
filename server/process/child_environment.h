// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_CHILD_ENVIRONMENT_H_
#define HOLDFAST_SERVER_PROCESS_CHILD_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace holdfast {

// Returns the environment for a child process, as "NAME=value": the variables
// of this process that a CUDA driver, a compiler or a sanitizer reads, and the
// variables of `own`, which replace others of the same name. All other
// variables are left out, because an environment may hold secrets and children
// run clients' code.
std::vector<std::string> ChildEnvironment(
    const std::vector<std::string>& own = {});

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_CHILD_ENVIRONMENT_H_
