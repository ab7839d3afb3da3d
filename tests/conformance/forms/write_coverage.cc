// SPDX-License-Identifier: Apache-2.0
//
// Rewrites the coverage table of core/software/README.md:
//
//   bazel run //tests/conformance/forms:write_coverage
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "tests/conformance/forms/coverage.h"

int main() {
  // `bazel run` names the tree; else it is where we stand.
  const char* tree = getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::string root = tree == nullptr ? "." : tree;
  const std::string path = root + "/core/software/README.md";
  std::ifstream file(path);
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  const auto goldens = holdfast::forms::ReadGoldens(
      root + "/tests/conformance/forms/goldens.txt");
  const std::string text = holdfast::forms::WithCoverage(
      readme, holdfast::forms::CoverageTable(goldens));
  if (text.empty()) {
    std::cerr << path << " has no markers for the table\n";
    return 1;
  }
  return (std::ofstream(path) << text).flush() ? 0 : 1;
}
