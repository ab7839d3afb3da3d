// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_FUZZ_ENGINE_OPEN_DESCRIPTORS_H_
#define HOLDFAST_TESTS_FUZZ_ENGINE_OPEN_DESCRIPTORS_H_

#include <map>
#include <string>

namespace holdfast::fuzz {

// Returns the open descriptors of this process, each with its file's name.
std::map<int, std::string> OpenDescriptors();

// Lists the descriptors in `now` whose numbers are not in `before`, for a
// finding: "17 /memfd:arena, 18 socket:[42]". Returns "" if there are none.
std::string NewDescriptors(const std::map<int, std::string>& before,
                           const std::map<int, std::string>& now);

}  // namespace holdfast::fuzz

#endif  // HOLDFAST_TESTS_FUZZ_ENGINE_OPEN_DESCRIPTORS_H_
