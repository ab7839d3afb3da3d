// SPDX-License-Identifier: Apache-2.0
//
// The operands that each instruction form is tested with: combinations of edge
// values of the types, then random values. They are the same on every machine.
#ifndef HOLDFAST_TESTS_CONFORMANCE_FORMS_INPUTS_H_
#define HOLDFAST_TESTS_CONFORMANCE_FORMS_INPUTS_H_

#include <vector>

#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {

inline constexpr size_t kInputs = 4096;

// Returns all 65536 bit patterns for a single source of 16 bits; else kInputs
// operand sets. Both counts are multiples of kBlockThreads.
std::vector<Sources> InputsFor(const std::vector<Kind>& sources);

}  // namespace holdfast::forms

#endif  // HOLDFAST_TESTS_CONFORMANCE_FORMS_INPUTS_H_
