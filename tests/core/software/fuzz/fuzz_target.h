// SPDX-License-Identifier: Apache-2.0
//
// The interface of a fuzz target: libFuzzer's entry point, which takes any
// bytes and returns 0, and inputs to start from.
#ifndef HOLDFAST_TESTS_CORE_SOFTWARE_FUZZ_FUZZ_TARGET_H_
#define HOLDFAST_TESTS_CORE_SOFTWARE_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace holdfast::software {

// Returns the inputs to start from.
std::vector<std::string> FuzzCorpus();

}  // namespace holdfast::software

#endif  // HOLDFAST_TESTS_CORE_SOFTWARE_FUZZ_FUZZ_TARGET_H_
