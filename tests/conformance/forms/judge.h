// SPDX-License-Identifier: Apache-2.0
//
// Judges the results of a case: by the oracle, and by a GPU's results from the
// same PTX and the same inputs.
#ifndef HOLDFAST_TESTS_CONFORMANCE_FORMS_JUDGE_H_
#define HOLDFAST_TESTS_CONFORMANCE_FORMS_JUDGE_H_

#include <map>
#include <string>
#include <vector>

#include "tests/conformance/forms/program.h"

namespace holdfast::forms {

// By result and input.
using CaseOutput = std::vector<std::vector<uint64_t>>;

// Inputs for which the results are not what the oracle says, in words: the
// first few, and how many there are. Empty: none.
std::string AgainstOracle(const Case& one, const std::vector<Sources>& inputs,
                          const CaseOutput& output);

// A form that a GPU computed. Exact results are kept as a hash, those of an
// approximation as numbers for the first kKept inputs.
struct Golden {
  uint32_t hash = 0;
  std::vector<uint64_t> values;
};
inline constexpr size_t kKept = 96;

Golden GoldenOf(const Case& one, const std::vector<Sources>& inputs,
                const CaseOutput& output);
// Empty if `output` agrees: bit for bit, NaN as a class, open results apart;
// an approximation within the documented error on both sides.
std::string AgainstGolden(const Case& one, const std::vector<Sources>& inputs,
                          const CaseOutput& output, const Golden& golden);

// A file with a line for each case. Missing files are empty.
using Goldens = std::map<std::string, Golden>;
Goldens ReadGoldens(const std::string& path);
std::string LineOf(const std::string& name, const Golden& golden);

// The results of one input in words, with the sources.
std::string Describe(const Case& one, const std::vector<Sources>& inputs,
                     const CaseOutput& output, size_t input);
// Whether PTX leaves the results open, by input.
std::vector<bool> OpenInputs(const Case& one,
                             const std::vector<Sources>& inputs);

}  // namespace holdfast::forms

#endif  // HOLDFAST_TESTS_CONFORMANCE_FORMS_JUDGE_H_
