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

// The bits of each result for each input: output[result][input].
using CaseOutput = std::vector<std::vector<uint64_t>>;

// Compares the output with the oracle. Returns a text with the first few inputs
// whose results are wrong, and their number; empty if all are right.
std::string AgainstOracle(const Case& one, const std::vector<Sources>& inputs,
                          const CaseOutput& output);

// The results of a form on a GPU: a hash of all results, and, for an
// approximation, the results of the first kKept inputs.
struct Golden {
  uint32_t hash = 0;
  std::vector<uint64_t> values;
};
inline constexpr size_t kKept = 96;

Golden GoldenOf(const Case& one, const std::vector<Sources>& inputs,
                const CaseOutput& output);
// Compares the output with a GPU's. Returns a text with the differences; empty
// if there are none. Exact results must have equal bits, except that all NaNs
// are equal and results that PTX leaves open are ignored. Results of an
// approximation may differ by twice the documented error.
std::string AgainstGolden(const Case& one, const std::vector<Sources>& inputs,
                          const CaseOutput& output, const Golden& golden);

// The goldens of a file, by case. A file has a line for each case; a missing
// file has none.
using Goldens = std::map<std::string, Golden>;
Goldens ReadGoldens(const std::string& path);
std::string LineOf(const std::string& name, const Golden& golden);

// Returns a text with the sources, the results and the required results of one
// input.
std::string Describe(const Case& one, const std::vector<Sources>& inputs,
                     const CaseOutput& output, size_t input);
// Returns, for each input, whether PTX leaves the results open.
std::vector<bool> OpenInputs(const Case& one,
                             const std::vector<Sources>& inputs);

}  // namespace holdfast::forms

#endif  // HOLDFAST_TESTS_CONFORMANCE_FORMS_JUDGE_H_
