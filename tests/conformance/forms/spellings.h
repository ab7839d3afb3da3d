// SPDX-License-Identifier: Apache-2.0
//
// Lists the spellings of instructions that the conformance tests try, from the
// software driver's table of forms.
#ifndef HOLDFAST_TESTS_CONFORMANCE_FORMS_SPELLINGS_H_
#define HOLDFAST_TESTS_CONFORMANCE_FORMS_SPELLINGS_H_

#include <string>
#include <vector>

#include "core/software/ptx/forms.h"

namespace holdfast::forms {

// ComputesValue returns true if these tests cover the form, because it computes
// a value. TestOf returns the path of the test that covers the form; "": none.
bool ComputesValue(const software::ptx::Form& form);
std::string TestOf(const software::ptx::Form& form);

// Returns true if the instruction ends the kernel, so that no spelling of it
// can be tried.
bool EndsKernel(const software::ptx::Form& form);

// Returns the spellings of all forms that compute a value, each once.
std::vector<std::string> ValueSpellings();

// Returns spellings of forms that load, store and convert addresses. Covers
// each type, vector, order, scope and hint, but not all combinations of them.
std::vector<std::string> MemorySpellings();

// Returns ValueSpellings and MemorySpellings together.
std::vector<std::string> TriedSpellings();

}  // namespace holdfast::forms

#endif  // HOLDFAST_TESTS_CONFORMANCE_FORMS_SPELLINGS_H_
