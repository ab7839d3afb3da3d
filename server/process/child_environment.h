// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_CHILD_ENVIRONMENT_H_
#define HOLDFAST_SERVER_PROCESS_CHILD_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace holdfast {

// The variables of this process that its children get, as "NAME=value": those
// that a CUDA driver, a compiler or a sanitizer reads. All others stay behind,
// since an environment may hold secrets and children run what clients send.
// One of `own` replaces a variable of the same name.
std::vector<std::string> ChildEnvironment(
    const std::vector<std::string>& own = {});

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_CHILD_ENVIRONMENT_H_
