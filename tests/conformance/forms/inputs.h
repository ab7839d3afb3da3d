// SPDX-License-Identifier: Apache-2.0
//
// The numbers that every form is tried with: edges of the types in all
// combinations, then random ones. The same on every machine.
#ifndef HOLDFAST_TESTS_CONFORMANCE_FORMS_INPUTS_H_
#define HOLDFAST_TESTS_CONFORMANCE_FORMS_INPUTS_H_

#include <vector>

#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {

inline constexpr size_t kInputs = 4096;

// Every bit pattern if there is one source of 16 bits, else kInputs; always
// whole blocks of threads.
std::vector<Sources> InputsFor(const std::vector<Kind>& sources);

}  // namespace holdfast::forms

#endif  // HOLDFAST_TESTS_CONFORMANCE_FORMS_INPUTS_H_
