// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_TESTING_OWN_MOUNTS_H_
#define HOLDFAST_TESTS_SERVER_TESTING_OWN_MOUNTS_H_

#include <functional>

namespace holdfast {

// True if `body` has run in a mount namespace of its own, in a process of its
// own, without a failed expectation; skips where there are no such namespaces.
bool RunsWithMounts(const std::function<void()>& body, bool* skipped);

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_TESTING_OWN_MOUNTS_H_
