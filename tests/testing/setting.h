// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_TESTING_SETTING_H_
#define HOLDFAST_TESTS_TESTING_SETTING_H_

#include <cstdlib>

#include "absl/strings/numbers.h"

namespace holdfast::testing {

// Returns the number in the environment variable `name`; `otherwise` if the
// variable is not set or not a number. A developer sets such variables to run a
// test for longer, or with another seed.
template <typename Number>
Number Setting(const char* name, Number otherwise) {
  const char* const text = std::getenv(name);
  Number value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_TESTING_SETTING_H_
