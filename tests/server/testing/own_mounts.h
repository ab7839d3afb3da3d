// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_TESTING_OWN_MOUNTS_H_
#define HOLDFAST_TESTS_SERVER_TESTING_OWN_MOUNTS_H_

#include <functional>

namespace holdfast {

// Runs `body` in a child process with its own user and mount namespaces.
// Returns true if no expectation failed. Returns false and sets *skipped if the
// machine does not allow such namespaces; clears *skipped otherwise.
bool RunsWithMounts(const std::function<void()>& body, bool* skipped);

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_TESTING_OWN_MOUNTS_H_
