// SPDX-License-Identifier: Apache-2.0
//
// The README says what the table of forms and the goldens say.
#include "tests/conformance/forms/coverage.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

namespace holdfast::forms {
namespace {

TEST(Coverage, TheReadmeHasTheTable) {
  std::ifstream file(getenv("HOLDFAST_SOFTWARE_README"));
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  const Goldens goldens = ReadGoldens(getenv("HOLDFAST_FORMS_GOLDENS"));
  ASSERT_NE(readme, "");
  EXPECT_EQ(WithCoverage(readme, CoverageTable(goldens)), readme)
      << "rewrite it: bazel run //tests/conformance/forms:write_coverage";
}

TEST(Coverage, ATextWithoutMarkersIsLeftAlone) {
  EXPECT_EQ(WithCoverage("# Nothing to replace\n", "table"), "");
}

}  // namespace
}  // namespace holdfast::forms
