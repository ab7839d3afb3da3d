// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_FUZZ_ENGINE_OPEN_DESCRIPTORS_H_
#define HOLDFAST_TESTS_FUZZ_ENGINE_OPEN_DESCRIPTORS_H_

#include <map>
#include <string>

namespace holdfast::fuzz {

// Returns the descriptors of this process and what each is open on.
std::map<int, std::string> OpenDescriptors();

// Returns what is in `now` and was not in `before`, for a finding: "17
// /memfd:arena, 18 socket:[42]"; empty if there is nothing.
std::string NewDescriptors(const std::map<int, std::string>& before,
                           const std::map<int, std::string>& now);

}  // namespace holdfast::fuzz

#endif  // HOLDFAST_TESTS_FUZZ_ENGINE_OPEN_DESCRIPTORS_H_
