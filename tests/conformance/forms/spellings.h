// SPDX-License-Identifier: Apache-2.0
//
// The forms that compute a value, out of the software driver's table.
#ifndef HOLDFAST_TESTS_CONFORMANCE_FORMS_SPELLINGS_H_
#define HOLDFAST_TESTS_CONFORMANCE_FORMS_SPELLINGS_H_

#include <string>
#include <vector>

#include "core/software/ptx/forms.h"

namespace holdfast::forms {

// Whether these tests are about the form; else which test is, "" if none.
bool ComputesValue(const software::ptx::Form& form);
std::string TestOf(const software::ptx::Form& form);

// Spellings of all forms that compute a value, without repetition.
std::vector<std::string> ValueSpellings();

// Spellings of forms that load, store and convert addresses: each type, vector,
// order, scope and hint once, not all that may be combined.
std::vector<std::string> MemorySpellings();

// Both.
std::vector<std::string> TriedSpellings();

}  // namespace holdfast::forms

#endif  // HOLDFAST_TESTS_CONFORMANCE_FORMS_SPELLINGS_H_
