// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_TESTING_SETTING_H_
#define HOLDFAST_TESTS_TESTING_SETTING_H_

#include <cstdlib>

#include "absl/strings/numbers.h"

namespace holdfast::testing {

// The number that an environment variable gives; `otherwise` if it gives none.
// By such variables a test is made longer, or another storm, by hand.
template <typename Number>
Number Setting(const char* name, Number otherwise) {
  const char* const text = std::getenv(name);
  Number value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_TESTING_SETTING_H_
