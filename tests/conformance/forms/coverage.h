// SPDX-License-Identifier: Apache-2.0
//
// The part of PTX that the software driver runs, and how well it is tested: the
// table of core/software/README.md.
#ifndef HOLDFAST_TESTS_CONFORMANCE_FORMS_COVERAGE_H_
#define HOLDFAST_TESTS_CONFORMANCE_FORMS_COVERAGE_H_

#include <string>

#include "tests/conformance/forms/judge.h"

namespace holdfast::forms {

// Returns Markdown: the table of opcodes with its sums, then the missing parts.
std::string CoverageTable(const Goldens& goldens);

// Returns `readme` with `table` between its two markers; empty if a marker is
// missing.
std::string WithCoverage(const std::string& readme, const std::string& table);

}  // namespace holdfast::forms

#endif  // HOLDFAST_TESTS_CONFORMANCE_FORMS_COVERAGE_H_
